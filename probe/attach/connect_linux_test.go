package attach

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/protocol"
)

// name returns what this process's socket is called.
func ownName(t *testing.T) string {
	t.Helper()
	start, err := startOf(os.Getpid())
	must(t, err)
	return protocol.SocketName(os.Getpid(), start)
}

// listenAs listens under a name and returns the path.
func listenAs(t *testing.T, folder, name string) string {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(folder, name))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// leaveBehind makes a socket without a listener.
func leaveBehind(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// kindOf names what kind of error it is, as its exit code does.
func kindOf(err error) string {
	var (
		missing   *NotFoundError
		forbidden *PermissionError
		none      *NoProbeError
	)
	switch {
	case err == nil:
		return "attached"
	case errors.As(err, &missing):
		return "not found"
	case errors.As(err, &forbidden):
		return "not permitted"
	case errors.As(err, &none):
		return "no probe"
	}
	return err.Error()
}

// making makes what a target leads to, in an empty folder of mode 0700.
type making func(t *testing.T, folder string) (target string)

// listened makes a socket that this process serves under a name.
func listened(name string) making {
	return func(t *testing.T, folder string) string {
		t.Helper()
		return listenAs(t, folder, name)
	}
}

// owned makes this process's own socket and changes something about it.
func owned(change func(t *testing.T, folder, socket string)) making {
	return func(t *testing.T, folder string) string {
		t.Helper()
		change(t, folder, listenAs(t, folder, ownName(t)))
		return fmt.Sprint(os.Getpid())
	}
}

// replaced makes a file or a link in the place of the folder.
func replaced(put func(folder, by string) error) making {
	return owned(func(t *testing.T, folder, _ string) {
		t.Helper()
		must(t, put(folder, folder+".new"))
		t.Setenv("MEMTOP_DIR", folder+".new")
	})
}

func empty(path string) error { return os.WriteFile(path, nil, 0o600) }

func TestOnlyAProcessesOwnSocketIsTrusted(t *testing.T) {
	self := os.Getpid()
	pid, own := fmt.Sprint(self), ownName(t)
	named := func(target string) making { return func(*testing.T, string) string { return target } }
	inside := func(name, target string, put func(path string) error) making {
		return func(t *testing.T, folder string) string {
			t.Helper()
			must(t, put(filepath.Join(folder, name)))
			return cmp.Or(target, filepath.Join(folder, name))
		}
	}
	tests := map[string]struct {
		make       making
		want, says string // of attaching
		listed     int    // as which process ls has it
		why        string // with a problem that says so, "" if it is not in the list
	}{
		"no socket":                          {named(pid), "no probe", "process " + pid + " has no probe", 0, ""},
		"a folder in the socket's place":     {inside(own, pid, func(path string) error { return os.Mkdir(path, 0o700) }), "not found", own + ": a folder is in its place", 0, ""},
		"a file in the place of the socket":  {inside(own, pid, empty), "not found", "another file is in its place", 0, ""},
		"a file in the place of a named one": {inside("7-7.sock", "", empty), "not found", "7-7.sock: another file is in its place", 0, ""},
		"a socket that was left behind":      {inside(own, pid, leaveBehind), "no probe", "is off", self, "is off"},
		"one left behind, by its path":       {inside("2147483646-7.sock", "", leaveBehind), "no probe", "no process listens", 0, "no process listens on"},
		"a folder that is a link":            {replaced(os.Symlink), "not permitted", "is a symbolic link", 0, ""},
		"a file in the place of the folder":  {replaced(func(_, by string) error { return empty(by) }), "not permitted", "is not a folder", 0, ""},
		"a folder that the group may write to": {owned(func(t *testing.T, folder, _ string) {
			t.Helper()
			chmod(t, folder, 0o770)
		}), "not permitted", "mode 0770", self, "has mode 0770, which lets others in"},
		"such a folder, by the socket's path": {func(t *testing.T, folder string) string {
			t.Helper()
			chmod(t, folder, 0o770)
			return listenAs(t, folder, own)
		}, "not permitted", "mode 0770", self, "has mode 0770, which lets others in"},
		"a folder of another user": {owned(func(t *testing.T, folder, _ string) {
			t.Helper()
			chown(t, folder, int(nobody.Uid))
		}), "not permitted", "belongs to user", self, "belongs to user"},
		"a socket of another user": {owned(func(t *testing.T, _, socket string) {
			t.Helper()
			chown(t, socket, int(nobody.Uid))
		}), "not permitted", "belongs to user", self, "belongs to user"},
		"a pid that another process had before": {listened(pid + "-12345.sock"), "not permitted", "is not the one that socket", 0, "is not the one that socket"},
		"the name of a process that has ended":  {listened("2147483646-7.sock"), "not permitted", "is not the one that", 0, "is not the one that socket"},
		"another process's name":                {listened("1-1.sock"), "not permitted", "is not the one that", 0, "is not the one that socket"},
		"no such process":                       {named("2147483646"), "not found", "process 2147483646", 0, ""},
		"no such socket":                        {func(_ *testing.T, folder string) string { return folder + "/1-1.sock" }, "not found", "1-1.sock", 0, ""},
		"nothing to choose":                     {named(""), "not found", "process that can be attached to", 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folder := shortFolder(t)
			t.Setenv("MEMTOP_DIR", folder)
			if strings.Contains(name, "another user") && os.Geteuid() != 0 {
				t.Skip("only root can make another user's files")
			}
			target := test.make(t, folder)
			if target == "" {
				t.Setenv("XDG_RUNTIME_DIR", folder)
				skipWhereOthersRun(t)
			}
			c, err := Dial(t.Context(), target, DialOptions{})
			if err == nil {
				_ = c.Close() // nothing was asked of it
			}
			if err == nil && target == "" {
				t.Skip("a program to attach to has begun meanwhile")
			}
			if got := kindOf(err); got != test.want || !strings.Contains(err.Error(), test.says) {
				t.Errorf("attaching gives %q (%v), want %q that says %q", got, err, test.want, test.says)
			}
			if test.why == "" {
				return
			}
			if p := discovered(t, folder); p == nil || p.Problem == nil || !strings.Contains(p.Problem.Error(), test.why) || p.PID != test.listed {
				t.Errorf("it is discovered as %+v, want process %d with a problem that says %q", p, test.listed, test.why)
			}
		})
	}
}

// TestASocketWithoutAProcesssNameIsServedByTheProcessItIsOf connects to a socket whose
// name does not say whose it is, as none does where /proc is not this process's.
func TestASocketWithoutAProcesssNameIsServedByTheProcessItIsOf(t *testing.T) {
	folder := shortFolder(t)
	listenAs(t, folder, "probe.sock")
	for pid, want := range map[int]string{os.Getpid(): "attached", 1: "not permitted"} {
		e := endpoint{pid: pid, uid: os.Geteuid(), root: "/", folder: folder, name: "probe.sock"}
		conn, err := e.connect(t.Context())
		if err == nil {
			_ = conn.Close() // nothing was sent on it
		}
		if got := kindOf(err); got != want || err != nil && !strings.Contains(err.Error(), "is served by process") {
			t.Errorf("the socket of process %d: %q (%v), want %q", pid, got, err, want)
		}
	}
}

// shortFolder returns a folder of the mode that is wanted, whose path fits into a
// socket's address.
func shortFolder(t *testing.T) string {
	t.Helper()
	outer, err := os.MkdirTemp("", "mt")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(outer) })
	folder := filepath.Join(outer, "s")
	must(t, os.Mkdir(folder, 0o700))
	return folder
}

// skipWhereOthersRun skips a test that other programs on this machine, found
// through their own environments, would disturb.
func skipWhereOthersRun(t *testing.T) {
	t.Helper()
	found, err := Discover(t.Context())
	must(t, err)
	for _, p := range found {
		if p.Problem == nil {
			t.Skipf("there are programs to attach to here, such as process %d", p.PID)
		}
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	must(t, os.Chmod(path, mode))
}

func chown(t *testing.T, path string, uid int) {
	t.Helper()
	must(t, os.Lchown(path, uid, -1))
}

func TestAProcessFindsItself(t *testing.T) {
	folder := filepath.Join(t.TempDir(), strings.Repeat("a folder with a long name ", 5))
	t.Setenv("MEMTOP_DIR", folder)
	p := probetest.New()
	probe := listening(t, p, probe.Options{Dir: folder})
	c := dialling(t, fmt.Sprint(os.Getpid()), DialOptions{})
	if got := c.Process(); got.PID != os.Getpid() || got.Socket != probe.Path() || got.Command == "" || got.User == "" {
		t.Errorf("it found %+v, want process %d at %s", got, os.Getpid(), probe.Path())
	}
	found, err := Discover(t.Context())
	must(t, err)
	for _, other := range found {
		if other.PID == os.Getpid() && other.Info != nil && len(other.Info.Devices) == 1 {
			return
		}
	}
	t.Errorf("it is not among %+v", found)
}

func TestWhereAProgramMayHaveItsSocket(t *testing.T) {
	tests := map[string]struct {
		environment map[string]string
		want        string // the most likely
	}{
		"nothing is set":           {nil, "/tmp/memtop-7"},
		"a folder of its own":      {map[string]string{"MEMTOP_DIR": "/d", "XDG_RUNTIME_DIR": "/x"}, "/d"},
		"a session":                {map[string]string{"XDG_RUNTIME_DIR": "/x", "TMPDIR": "/t"}, "/x/memtop"},
		"another temporary folder": {map[string]string{"TMPDIR": "/t"}, "/t/memtop-7"},
		"a relative path":          {map[string]string{"MEMTOP_DIR": "d"}, "/tmp/memtop-7"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folders := foldersFor(func(name string) string { return test.environment[name] }, 7)
			if len(folders) == 0 || folders[0] != test.want {
				t.Errorf("got %q, want %q first", folders, test.want)
			}
			if last := folders[len(folders)-1]; last != "/tmp/memtop-7" {
				t.Errorf("the last is %q, want the one where nothing is set", last)
			}
		})
	}
}

func TestRelativePathsAreSeenFromTheProcess(t *testing.T) {
	environment := map[string]string{"MEMTOP_DIR": "d", "TMPDIR": "/t"}
	folders := foldersFor(from("/home", func(name string) string { return environment[name] }), 7)
	if want := "/home/d"; folders[0] != want {
		t.Errorf("got %q, want %q first", folders, want)
	}
}

func TestPathsThroughAProcessesRoot(t *testing.T) {
	for path, want := range map[string][2]string{
		"/run/memtop":                {"/", "/run/memtop"},
		"/proc/12/root/tmp/memtop-0": {"/proc/12/root", "/tmp/memtop-0"},
		"/proc/12/root":              {"/proc/12/root", "/"},
		"/proc/12/cwd/x":             {"/", "/proc/12/cwd/x"},
		"/":                          {"/", "/"},
	} {
		if root, rest := splitRoot(path); root != want[0] || rest != want[1] {
			t.Errorf("%s is %q and %q, want %q", path, root, rest, want)
		}
	}
}
