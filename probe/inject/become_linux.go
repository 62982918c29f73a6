package inject

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/snapshots/procfs"
)

// # Becoming the program
//
// To go into a program is to run code that the program controls: its interpreter, or a
// debugger that reads its files. If memtop has more rights than the program, above all as
// root, that code must not run with memtop's rights. So memtop starts itself again, as a
// process with root's rights that reads nothing of the program. That process starts a new one,
// which takes the program's identity and only then starts memtop once more to do the task.
//
//   - The program's rights are read, then its files are opened, then its rights are read
//     again: they must be the same, from the same call of execve. So a program that ends,
//     changes, or is replaced by another meanwhile is refused.
//   - The new process enters the namespaces and the root, takes the groups and the user, and
//     gives up all capabilities that the program does not have. It cannot get any back.
//   - Before that, the process with root's rights enters the program's control groups.
//     Otherwise a container's root could use devices that its group forbids.
//   - It takes the program's limits and priority where root's allow more, and leaves root's
//     keys behind: a new session keyring replaces the one that its code could read.
//   - No process may trace the new one before it has the program's identity: when a process
//     changes its user, the kernel ensures that. It enters the program's PID namespace only
//     after it has given up everything, and shares memory with no process.
//   - The program that it runs then is a copy of memtop in memory that nobody can change: a
//     container's root may write to the file of a program that runs in the container.
//   - It has no terminal, no environment, and no open files of memtop but three pipes and the
//     file that the program ran. Its answer is treated as text that an attacker wrote.

// footing is what was opened of a program while it had certain rights.
type footing struct {
	root, executable uintptr
	namespaces       map[string]uintptr
}

// take opens what a process needs to take another one's identity.
func take(folder string) (footing, error) {
	f := footing{namespaces: make(map[string]uintptr)}
	open := func(name string, flags int) (uintptr, error) {
		file, err := os.OpenFile(folder+"/"+name, flags, 0)
		if err != nil {
			return 0, err
		}
		defer file.Close() // its copy is used
		return aside(file.Fd())
	}
	var err, err2 error
	f.root, err = open("root", unix.O_PATH|unix.O_DIRECTORY)
	f.executable, err2 = open("exe", unix.O_PATH)
	if err := cmp.Or(err, err2); err != nil {
		return f, err
	}
	for _, kind := range namespaces {
		if f.namespaces[kind], err = open("ns/"+kind, unix.O_RDONLY); err != nil && !os.IsNotExist(err) {
			return f, err
		}
	}
	return f, nil
}

// kinds are the flags of clone and setns for each kind of namespace.
var kinds = map[string]uintptr{
	"cgroup": unix.CLONE_NEWCGROUP, "ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "net": unix.CLONE_NEWNET,
	"pid": unix.CLONE_NEWPID, "mnt": unix.CLONE_NEWNS, "user": unix.CLONE_NEWUSER,
}

// becoming returns the calls that turn a process with rights mine into one with theirs.
func becoming(mine, theirs rights, f footing) *series {
	s := &series{}
	s.add("closing its memory", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
	for _, kind := range namespaces[:len(namespaces)-1] {
		s.enter(kind, mine, theirs, f)
	}
	s.add("entering its root", unix.SYS_FCHDIR, f.root)
	if mine.Root != theirs.Root || mine.Namespaces["mnt"] != theirs.Namespaces["mnt"] {
		s.add("entering its root", unix.SYS_CHROOT, pointTo(s, &[]byte(".\x00")[0]))
	}
	s.takeLimits(mine, theirs)
	s.takeIDs(mine, theirs)
	s.enter("user", mine, theirs, f)
	s.giveUp(mine, theirs)
	if hasKeyrings() {
		s.add("leaving root's keys", unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING) // a new one without a name
	}
	s.add("closing its memory", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
	s.add("setting its mask", unix.SYS_UMASK, 0o077)
	s.add("passing a file on", unix.SYS_DUP3, f.executable, 3)
	s.add("ending with memtop", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	if mine.Namespaces["pid"] != theirs.Namespaces["pid"] {
		s.add("starting a process", unix.SYS_CLONE, uintptr(unix.SIGCHLD)) // only new processes enter it
		s.add("ending with memtop", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	}
	s.add("leaving the terminal", unix.SYS_SETSID)
	return s
}

// enter enters a namespace if it differs from the process's own.
func (s *series) enter(kind string, mine, theirs rights, f footing) {
	if mine.Namespaces[kind] != theirs.Namespaces[kind] {
		s.add("entering its "+kind+" namespace", unix.SYS_SETNS, f.namespaces[kind], kinds[kind])
	}
}

// takeLimits takes the lower of two limits each, and the lower priority.
func (s *series) takeLimits(mine, theirs rights) {
	for n := range theirs.Limits {
		own, to := mine.Limits[n], &theirs.Limits[n]
		to.Cur, to.Max = min(to.Cur, own.Cur), min(to.Max, own.Max)
		s.add("taking its limits", unix.SYS_PRLIMIT64, 0, uintptr(n), pointTo(s, to))
	}
	if mine.RealTime {
		s.add("taking its priority", unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL, pointTo(s, new(int32)))
	}
	s.add("taking its priority", unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(max(mine.Nice, theirs.Nice)))
	const ofProcess = 1
	if _, _, err := unix.Syscall(unix.SYS_IOPRIO_GET, ofProcess, 0, 0); err == 0 {
		s.add("taking its priority", unix.SYS_IOPRIO_SET, ofProcess, 0, 0) // that of its processor time
	}
}

// hasKeyrings reports whether processes here can have keys. A kernel without them, or a
// container that refuses the call, refuses it to the new process too.
func hasKeyrings() bool {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	return !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM)
}

// takeIDs takes the groups and the user. Capabilities stay in force, because entering a user
// namespace needs them.
func (s *series) takeIDs(mine, theirs rights) {
	if fmt.Sprint(mine.Others) != fmt.Sprint(theirs.Others) {
		groups := make([]uint32, len(theirs.Others)+1) // one more, to have an address
		for i, id := range theirs.Others {
			groups[i] = uint32(id) //nolint:gosec // the kernel wrote it
		}
		s.add("taking its groups", unix.SYS_SETGROUPS, uintptr(len(theirs.Others)), pointTo(s, &groups[0]))
	}
	if mine.Groups != theirs.Groups {
		s.add("taking its group", unix.SYS_SETRESGID, uintptrs(theirs.Groups)...)
	}
	if mine.Users != theirs.Users {
		s.add("keeping capabilities", unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1)
		s.add("taking its user", unix.SYS_SETRESUID, uintptrs(theirs.Users)...)
		s.capset(mine.Permitted, 0)
	}
}

// giveUp gives up, for good, the capabilities that the other process does not have.
func (s *series) giveUp(mine, theirs rights) {
	bounding, permitted := mine.Bounding, theirs.Permitted
	if mine.Namespaces["user"] == theirs.Namespaces["user"] {
		permitted &= mine.Permitted
	} else {
		bounding = allCapabilities() // a process that enters one has all
	}
	for n := range uintptr(64) {
		if bounding&^permitted&(1<<n) != 0 {
			s.add("giving up a capability", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, n)
		}
	}
	s.add("giving up capabilities", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	s.capset(permitted, theirs.Inheritable&permitted)
	for n := range uintptr(64) {
		if theirs.Ambient&theirs.Inheritable&permitted&(1<<n) != 0 {
			s.add("taking a capability", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, n)
		}
	}
	s.add("giving up new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
}

// capset sets the permitted capabilities, all of which are in force, and the inheritable
// ones.
func (s *series) capset(permitted, inheritable uint64) {
	low := unix.CapUserData{Effective: uint32(permitted), Permitted: uint32(permitted), Inheritable: uint32(inheritable)} //nolint:gosec // the lower half
	high := unix.CapUserData{Effective: uint32(permitted >> 32), Permitted: uint32(permitted >> 32), Inheritable: uint32(inheritable >> 32)}
	data := &[2]unix.CapUserData{low, high}
	s.add("giving up capabilities", unix.SYS_CAPSET, pointTo(s, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}), pointTo(s, data))
}

// allCapabilities returns the capabilities that this kernel knows.
func allCapabilities() uint64 {
	text, _ := procfs.Read("/proc/sys/kernel/cap_last_cap")
	last, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		last = unix.CAP_LAST_CAP
	}
	return 1<<(last+1) - 1
}

func uintptrs(ids [3]int) []uintptr {
	return []uintptr{uintptr(ids[0]), uintptr(ids[1]), uintptr(ids[2])} //nolint:gosec // the kernel wrote them
}

// exec ends the series by starting a program, given by its open file.
func (s *series) exec(program uintptr, name string, environment []string) error {
	arguments, err := syscall.SlicePtrFromStrings([]string{name})
	if err != nil {
		return err
	}
	variables, err := syscall.SlicePtrFromStrings(environment)
	if err != nil {
		return err
	}
	empty := pointTo(s, new(byte))
	s.add("starting memtop", unix.SYS_EXECVEAT, program, empty, pointTo(s, &arguments[0]), pointTo(s, &variables[0]), unix.AT_EMPTY_PATH)
	return nil
}

// inMemory returns a copy of this program in memory that nobody can change.
func inMemory() (uintptr, error) {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return 0, err
	}
	defer program.Close() // it was only read
	fd, err := unix.MemfdCreate("memtop", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, fmt.Errorf("making a file in memory: %w", err)
	}
	memory := os.NewFile(uintptr(fd), "memtop") //nolint:gosec // files have small numbers
	defer memory.Close()                        // its copy is used
	if _, err := io.Copy(memory, program); err != nil {
		return 0, err
	}
	if _, err := unix.FcntlInt(memory.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE); err != nil {
		return 0, fmt.Errorf("sealing a file in memory: %w", err)
	}
	return aside(memory.Fd())
}
