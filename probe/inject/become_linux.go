package inject

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// # Becoming the program
//
// To go into a program is to run what is the program's own: its interpreter, or a debugger
// that reads its files. Where memtop may do more than the program, above all where it is
// root's, that must not run with memtop's rights. So memtop starts itself once more, as a
// process with root's rights that reads nothing of the program; that one starts a process
// which becomes the program, and only then memtop once more, which does the task.
//
//   - What the program's rights are is read, then its files are opened, then its rights are
//     read again: they must be the same, of the same call of execve. So a program that
//     ends, changes or is another one meanwhile is refused.
//   - The new process enters the namespaces and the root, takes the groups and the user, and
//     gives up all capabilities that the program has not. It can get none back.
//   - Before that the process with root's rights enters the program's control groups: without,
//     a container's root could use devices that its group keeps from it.
//   - Nobody may trace it before it is another program: changing the user has the kernel
//     see to that. It becomes part of the program's count of processes only after it has
//     given all up, and shares memory with nobody.
//   - What it then is, is a copy of memtop in memory that nobody can change: a container's
//     root may write into the file of a program that runs in it.
//   - It has no terminal, no environment and no open file of memtop's but three pipes and the
//     file that the program ran. What it answers is taken for text that an attacker wrote.

// footing is what was opened of a program while it had certain rights.
type footing struct {
	root, executable uintptr
	namespaces       map[string]uintptr
}

// take opens what a process needs to become another one.
func take(folder string) (footing, error) {
	f := footing{namespaces: make(map[string]uintptr)}
	open := func(name string, flags int) (uintptr, error) {
		fd, err := unix.Open(folder+"/"+name, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, &os.PathError{Op: "open", Path: name, Err: err}
		}
		defer func() { _ = unix.Close(fd) }() // its copy is used
		return aside(uintptr(fd))             //nolint:gosec // files have small numbers
	}
	var err error
	if f.root, err = open("root", unix.O_PATH|unix.O_DIRECTORY); err != nil {
		return f, err
	}
	if f.executable, err = open("exe", unix.O_PATH); err != nil {
		return f, err
	}
	for _, kind := range namespaces {
		if f.namespaces[kind], err = open("ns/"+kind, unix.O_RDONLY); err != nil && !os.IsNotExist(err) {
			return f, err
		}
	}
	return f, nil
}

// flags of clone and setns for kinds of namespaces.
var kinds = map[string]uintptr{
	"cgroup": unix.CLONE_NEWCGROUP, "ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "net": unix.CLONE_NEWNET,
	"pid": unix.CLONE_NEWPID, "mnt": unix.CLONE_NEWNS, "user": unix.CLONE_NEWUSER,
}

// becoming returns the calls by which a process with rights mine becomes one with theirs.
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
	s.takeIDs(mine, theirs)
	s.enter("user", mine, theirs, f)
	s.giveUp(mine, theirs)
	s.add("closing its memory", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
	s.add("setting its mask", unix.SYS_UMASK, 0o077)
	s.add("passing a file on", unix.SYS_DUP3, f.executable, 3)
	if mine.Namespaces["pid"] != theirs.Namespaces["pid"] {
		s.add("starting a process", unix.SYS_CLONE, uintptr(unix.SIGCHLD)) // only new processes are in it
	}
	s.add("leaving the terminal", unix.SYS_SETSID)
	return s
}

// enter enters a namespace where it is another one.
func (s *series) enter(kind string, mine, theirs rights, f footing) {
	if mine.Namespaces[kind] != theirs.Namespaces[kind] {
		s.add("entering its "+kind+" namespace", unix.SYS_SETNS, f.namespaces[kind], kinds[kind])
	}
}

// takeIDs takes the groups and the user. Capabilities stay, in force: they are needed to
// enter a user namespace.
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

// giveUp gives up capabilities that the other has not, for good.
func (s *series) giveUp(mine, theirs rights) {
	bounding, permitted := mine.Bounding, theirs.Permitted
	if mine.Namespaces["user"] == theirs.Namespaces["user"] {
		permitted &= mine.Permitted
	} else {
		bounding = allCapabilities() // one who enters has all
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

// capset sets the capabilities that are permitted, all of which are in force, and those
// that are inheritable.
func (s *series) capset(permitted, inheritable uint64) {
	low := unix.CapUserData{Effective: uint32(permitted), Permitted: uint32(permitted), Inheritable: uint32(inheritable)} //nolint:gosec // the lower half
	high := unix.CapUserData{Effective: uint32(permitted >> 32), Permitted: uint32(permitted >> 32), Inheritable: uint32(inheritable >> 32)}
	data := &[2]unix.CapUserData{low, high}
	s.add("giving up capabilities", unix.SYS_CAPSET, pointTo(s, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}), pointTo(s, data))
}

// allCapabilities returns those that this kernel knows.
func allCapabilities() uint64 {
	text, _ := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	last, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		last = unix.CAP_LAST_CAP
	}
	return 1<<(last+1) - 1
}

func uintptrs(ids [3]int) []uintptr {
	return []uintptr{uintptr(ids[0]), uintptr(ids[1]), uintptr(ids[2])} //nolint:gosec // the kernel wrote them
}

// exec has the series end in a program, given by its open file.
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

// inMemory returns a copy of this program that nobody can change.
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
