package inject

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
)

// attackers are programs that pass for Python: whose files they are, who starts them, and
// the words that take them where they run.
var attackers = map[string]struct {
	owner, starts uint32
	words         string
}{
	"another user":             {attacker, attacker, ""},
	"root of a container":      {0, 0, "unshare --mount --pid --net --ipc --uts --fork --mount-proc setpriv --bounding-set=-all,+chown,+kill --inh-caps=-all"},
	"a user of a container":    {attacker, 0, "unshare --mount --pid --fork --mount-proc setpriv --reuid=64999 --regid=64999 --clear-groups"},
	"a user with groups":       {attacker, 0, "setpriv --reuid=64999 --regid=64999 --groups=7,64998"},
	"a user with a capability": {attacker, 0, "setpriv --reuid=64999 --regid=64999 --clear-groups --inh-caps=-all,+net_bind_service --ambient-caps=-all,+net_bind_service"},
	"a user with limits":       {attacker, 0, "nice -n 5 prlimit --nofile=256:256 --memlock=4096:4096 setpriv --reuid=64999 --regid=64999 --clear-groups"},
	"root of a user namespace": {attacker, attacker, "unshare --user --map-root-user --mount --pid --fork --mount-proc"},
}

// TestNothingOfAnothersRunsWithRootsRights has root attach to programs that pass for
// Python: what they are run for must have their rights and no more.
func TestNothingOfAnothersRunsWithRootsRights(t *testing.T) {
	for name, test := range attackers {
		t.Run(name, func(t *testing.T) {
			folder := stage(t, int(test.owner))
			fatal.If(t, os.Chmod(folder, 0o777)) //nolint:gosec // all of them write into it
			t.Setenv("SECRET_OF_ROOT", "1")
			secret, err := unix.Open(stage(t, 0), unix.O_RDONLY, 0) // as a shell hands files on
			fatal.If(t, err)
			t.Cleanup(func() { _ = unix.Close(secret) })
			as := &syscall.Credential{Uid: test.starts, Gid: test.starts}
			put := cell(t)
			pid := begin(t, folder, filepath.Join(folder, "sockets"), as, strings.Fields(test.words)...)
			put(pid)
			for _, debugger := range []string{"", "gdb"} {
				t.Run(debugger, func(t *testing.T) { goIn(t, pid, folder, debugger) })
			}
		})
	}
}

// cell makes control groups, where that is possible, and returns what puts a process into
// them. They go, and the process with them, when the test ends.
func cell(t *testing.T) (put func(pid int)) {
	t.Helper()
	mounts := fatal.Read(t, "/proc/self/mountinfo")
	var groups []string
	for _, controllers := range []string{"devices", ""} {
		top, err := groupFolder(mounts, controllers, "/")
		if err == nil {
			top, err = os.MkdirTemp(top, "memtop-attack-*")
		}
		if err != nil {
			t.Logf("no control group for it: %v", err)
			continue
		}
		groups = append(groups, top)
	}
	var prisoner unix.PollFd
	t.Cleanup(func() {
		if prisoner.Fd > 0 {
			_ = unix.PidfdSendSignal(int(prisoner.Fd), unix.SIGKILL, nil, 0) // it may have ended
			_, _ = unix.Poll([]unix.PollFd{prisoner}, int(deadline.Milliseconds()))
			_ = unix.Close(int(prisoner.Fd))
		}
		for _, group := range groups {
			probetest.Eventually(t, "the end of "+group, func() bool { return os.Remove(group) == nil }) // a process leaves it last of all
		}
	})
	return func(pid int) {
		fd, err := unix.PidfdOpen(pid, 0)
		prisoner = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN} //nolint:gosec // files have small numbers
		for _, group := range groups {
			err = errors.Join(err, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
		}
		fatal.If(t, err)
	}
}

// goIn goes into an impostor, and checks the rights of what was run for that.
func goIn(t *testing.T, pid int, folder, debugger string) {
	t.Helper()
	giveRootASecret(t)
	p := planFor(t, pid)
	if debugger != "" {
		p.debugger = filepath.Join(folder, debugger)
	}
	if err := p.Start(t.Context()); err == nil {
		t.Error("an impostor is believed")
	}
	want, got := read(t, folder, "job"), read(t, folder, "proof")
	for _, right := range slices.Concat(compared, namespaces) {
		if said(got, right) != said(want, right) {
			t.Errorf("%s is %q, want %q", right, said(got, right), said(want, right))
		}
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if want := fmt.Sprintf("%q", groups); err != nil || said(got, "control groups") != want {
		t.Errorf("its control groups are %s, want %s, %v", said(got, "control groups"), want, err)
	}
	if bounding(t, got)&^bounding(t, want) != 0 {
		t.Errorf("CapBnd is %s, want no more than %s", said(got, "CapBnd"), said(want, "CapBnd"))
	}
	if key := said(got, "key"); key != "" {
		t.Errorf("it reads root's key: %s", key)
	}
	if said(got, "NoNewPrivs") != "1" {
		t.Error("it can get new privileges")
	}
	if session := said(got, "session"); session == "0" || session != said(got, "PPid") {
		t.Errorf("it is in session %s, and not in one of memtop's copy (%s) without a terminal", session, said(got, "PPid"))
	}
	if strings.Contains(said(got, "environment"), "SECRET_OF_ROOT") {
		t.Error("it has root's environment")
	}
	if files := said(got, "files"); strings.Count(files, "memtop-attack-") > 1 || strings.Contains(files, "/dev/pts/") {
		t.Errorf("it has the files %s", files)
	}
}

// giveRootASecret puts a key into a session keyring of this thread, and raises its priority.
// What the thread starts inherits both. The thread ends with the test.
func giveRootASecret(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	_, _, err := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	if err == 0 {
		if _, err := unix.AddKey("user", secret, []byte("root's"), unix.KEY_SPEC_SESSION_KEYRING); err != nil {
			t.Fatal(err)
		}
		if key := keyOfSession(); !strings.HasPrefix(key, "root's") {
			t.Fatalf("root's own key is %q", key)
		}
	} else {
		t.Logf("the kernel has no keyrings for this test: %v", err)
	}
	own := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if err := errors.Join(unix.Setpriority(unix.PRIO_PROCESS, 0, -5), unix.SchedSetAttr(0, own, 0)); err != nil {
		t.Logf("root may not raise its priority here: %v", err)
	}
}

// planFor returns the way into a process. Where there is none, nothing of it is run.
func planFor(t *testing.T, pid int) *Plan {
	t.Helper()
	p, err := NewPlan(pid)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		t.Skip(refused)
	case err != nil:
		t.Fatal(err)
	}
	return p
}

// read returns what an impostor has written, once.
func read(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatalf("it was not run: %v", err)
	}
	if name == "proof" {
		_ = os.Remove(filepath.Join(folder, name)) // the next one writes another
	}
	return string(text)
}

func bounding(t *testing.T, portrayal string) uint64 {
	t.Helper()
	set, err := strconv.ParseUint(said(portrayal, "CapBnd"), 16, 64)
	fatal.If(t, err)
	return set
}

// TestAProgramThatChangesIsRefused has a program be another one, or have other rights,
// than those that were looked at.
func TestAProgramThatChangesIsRefused(t *testing.T) {
	for name, change := range map[string]func(*rights){
		"it called execve":        func(r *rights) { r.Image += "1" },
		"it has more rights":      func(r *rights) { r.Permitted++ },
		"it was in another place": func(r *rights) { r.Namespaces["user"] = "user:[1]" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, user := range []uint32{attacker, 0} {
				folder := stage(t, int(user))
				p := planFor(t, begin(t, folder, filepath.Join(folder, "sockets"), &syscall.Credential{Uid: user, Gid: user}))
				change(&p.rights)
				if err := p.Start(t.Context()); !errors.As(err, new(*RefusedError)) || !strings.Contains(err.Error(), "changed while memtop checked it") {
					t.Errorf("user %d: got %v", user, err)
				}
				if _, err := os.Stat(filepath.Join(folder, "proof")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("user %d: it was run: %v", user, err)
				}
			}
		})
	}
}

// TestRootsHelpersEndWithTheOneThatAsked has an interpreter stop the process that has started
// it, and the one that asked for the agent go.
func TestRootsHelpersEndWithTheOneThatAsked(t *testing.T) {
	t.Parallel()
	folder := stage(t, attacker)
	p := planFor(t, begin(t, folder, filepath.Join(folder, "sockets"), &syscall.Credential{Uid: attacker, Gid: attacker}))
	fatal.If(t, os.WriteFile(filepath.Join(folder, "holds"), nil, 0o600))
	fatal.If(t, os.Chmod(folder, 0o777)) //nolint:gosec // another user writes into it
	text, err := json.Marshal(&order{Task: *p.task(), PID: p.program.PID, Rights: p.rights})
	fatal.If(t, err)
	helper := exec.CommandContext(t.Context(), "/proc/self/exe")
	helper.Args, helper.Env = []string{becomes}, append(standard, orderVariable+"="+string(text))
	input, err := helper.StdinPipe()
	fatal.If(t, errors.Join(err, helper.Start()))
	t.Cleanup(func() { _ = helper.Process.Kill(); _ = helper.Wait() })
	var held string
	probetest.Eventually(t, "the interpreter", func() bool {
		text, _ := os.ReadFile(filepath.Join(folder, "held"))
		held = string(text)
		return said(held, "files") != ""
	})
	var helpers []unix.PollFd
	for _, pid := range []string{said(held, "Pid"), said(held, "PPid"), strconv.Itoa(helper.Process.Pid)} {
		n, _ := strconv.Atoi(pid)
		fd, err := unix.PidfdOpen(n, 0)
		fatal.If(t, err)
		t.Cleanup(func() { _ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); _ = unix.Close(fd) })
		helpers = append(helpers, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}) //nolint:gosec // files have small numbers
	}
	fatal.If(t, input.Close())
	for i, who := range []string{"the interpreter", "the process with the program's identity", "the one with root's"} {
		n, err := 0, error(unix.EINTR)
		for errors.Is(err, unix.EINTR) {
			n, err = unix.Poll(helpers[i:i+1], int(deadline.Milliseconds()))
		}
		if n != 1 {
			t.Fatalf("%s goes on: %v", who, err)
		}
	}
}

// TestTheCopyInMemoryCannotBeChanged is about a container's root, who can open it.
func TestTheCopyInMemoryCannotBeChanged(t *testing.T) {
	fd, err := inMemory()
	fatal.If(t, err)
	defer func() { _ = unix.Close(int(fd)) }()
	if _, err := unix.Pwrite(int(fd), []byte("#!"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("writing gives %v", err)
	}
	if err := unix.Ftruncate(int(fd), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("cutting it gives %v", err)
	}
}

// TestFoldersOfRootAreLeftAlone has root attach to programs whose folder is, or becomes,
// one of root's.
func TestFoldersOfRootAreLeftAlone(t *testing.T) {
	for name, place := range map[string]func(t *testing.T, folder, roots string) string{
		"a folder in root's": func(_ *testing.T, _, roots string) string { return filepath.Join(roots, "evil.service.d") },
		"a link to root's":   link,
		"a folder in a link": func(t *testing.T, folder, roots string) string {
			t.Helper()
			return filepath.Join(link(t, folder, roots), "evil")
		},
		"a folder that becomes link": swapped,
	} {
		t.Run(name, func(t *testing.T) {
			folder := stage(t, attacker)
			roots := filepath.Join(stage(t, 0), "roots")
			fatal.If(t, os.Mkdir(roots, 0o755))
			before := inode(t, roots)
			path, rounds := place(t, folder, roots), 1
			if filepath.Base(path) == "swapped" {
				rounds = 6
			}
			pid := begin(t, folder, path, &syscall.Credential{Uid: attacker, Gid: attacker})
			for range rounds {
				if rounds > 1 {
					_ = os.RemoveAll(path) // so that it is made anew
				}
				if err := planFor(t, pid).Start(t.Context()); err == nil {
					t.Error("an impostor is believed")
				}
			}
			if after := inode(t, roots); after != before {
				t.Errorf("root's folder is %+v, and was %+v", after, before)
			}
		})
	}
}

// link returns a link to a folder of root's.
func link(t *testing.T, folder, roots string) string {
	t.Helper()
	path := filepath.Join(folder, "link")
	fatal.If(t, os.Symlink(roots, path))
	return path
}

// swapped returns a path at which another user puts a link to root's folder in the
// place of every folder that appears there.
func swapped(t *testing.T, folder, roots string) string {
	t.Helper()
	path := filepath.Join(folder, "swapped")
	play(t, &syscall.Credential{Uid: attacker, Gid: attacker}, nil, filepath.Join(folder, "python3.14"), "swap", path, roots)
	return path
}

// state is what must stay of a folder.
type state struct {
	owner, group, mode uint32
	entries            int
	changed            time.Time
}

func inode(t *testing.T, path string) state {
	t.Helper()
	var stat unix.Stat_t
	entries, err := os.ReadDir(path)
	fatal.If(t, errors.Join(err, unix.Lstat(path, &stat)))
	return state{stat.Uid, stat.Gid, stat.Mode, len(entries), time.Unix(stat.Ctim.Unix())}
}
