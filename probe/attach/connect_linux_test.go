package attach

import (
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
func leaveBehind(t *testing.T, folder, name string) string {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, name), Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	must(t, l.Close())
	return l.Addr().String()
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

func TestOnlyAProcessesOwnSocketIsTrusted(t *testing.T) {
	pid := fmt.Sprint(os.Getpid())
	const nobody = 65534
	tests := map[string]struct {
		make func(t *testing.T, folder string) (target string) // in an empty folder of mode 0700
		want string
		says string
	}{
		"no socket": {
			func(*testing.T, string) string { return pid }, "no probe", "process " + pid + " has no probe",
		},
		"a folder in the socket's place": {
			func(t *testing.T, folder string) string {
				t.Helper()
				must(t, os.Mkdir(filepath.Join(folder, ownName(t)), 0o700))
				return pid
			}, "not found", ownName(t) + ": a folder is in its place",
		},
		"a file in the place of a socket that is named": {
			func(t *testing.T, folder string) string {
				t.Helper()
				must(t, os.WriteFile(filepath.Join(folder, "7-7.sock"), nil, 0o600))
				return filepath.Join(folder, "7-7.sock")
			}, "not found", "7-7.sock: another file is in its place",
		},
		"a socket that was left behind": {
			func(t *testing.T, folder string) string {
				t.Helper()
				leaveBehind(t, folder, ownName(t))
				return pid
			}, "no probe", "is off",
		},
		"one left behind, by its path": {
			func(t *testing.T, folder string) string {
				t.Helper()
				return leaveBehind(t, folder, "7-7.sock")
			}, "no probe", "no process listens",
		},
		"a folder that is a link": {
			func(t *testing.T, folder string) string {
				t.Helper()
				listenAs(t, folder, ownName(t))
				link := folder + ".link"
				must(t, os.Symlink(folder, link))
				t.Setenv("MEMTOP_DIR", link)
				return pid
			}, "not permitted", "is a symbolic link",
		},
		"a folder that the group may write to": {
			func(t *testing.T, folder string) string {
				t.Helper()
				listenAs(t, folder, ownName(t))
				chmod(t, folder, 0o770)
				return pid
			}, "not permitted", "mode 0770",
		},
		"such a folder, by the socket's path": {
			func(t *testing.T, folder string) string {
				t.Helper()
				path := listenAs(t, folder, ownName(t))
				chmod(t, folder, 0o770)
				return path
			}, "not permitted", "mode 0770",
		},
		"a folder of another user": {
			func(t *testing.T, folder string) string {
				t.Helper()
				listenAs(t, folder, ownName(t))
				chown(t, folder, nobody)
				return pid
			}, "not permitted", "belongs to user",
		},
		"a socket of another user": {
			func(t *testing.T, folder string) string {
				t.Helper()
				chown(t, listenAs(t, folder, ownName(t)), nobody)
				return pid
			}, "not permitted", "belongs to user",
		},
		"a file in the place of the folder": {
			func(t *testing.T, folder string) string {
				t.Helper()
				file := folder + ".file"
				must(t, os.WriteFile(file, nil, 0o600))
				t.Setenv("MEMTOP_DIR", file)
				return pid
			}, "not permitted", "is not a folder",
		},
		"a file in the place of the socket": {
			func(t *testing.T, folder string) string {
				t.Helper()
				must(t, os.WriteFile(filepath.Join(folder, ownName(t)), nil, 0o600))
				return pid
			}, "not found", "another file is in its place",
		},
		"a pid that another process had before": {
			func(t *testing.T, folder string) string {
				t.Helper()
				return listenAs(t, folder, pid+"-12345.sock")
			},
			"not permitted", "is not the one that socket",
		},
		"another process's name": {
			func(t *testing.T, folder string) string {
				t.Helper()
				return listenAs(t, folder, "1-1.sock")
			}, "not permitted", "is not the one that",
		},
		"no such process":   {func(*testing.T, string) string { return "2147483646" }, "not found", "process 2147483646"},
		"no such socket":    {func(_ *testing.T, folder string) string { return folder + "/1-1.sock" }, "not found", "1-1.sock"},
		"nothing to choose": {func(*testing.T, string) string { return "" }, "not found", "process that can be attached to"},
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
