package probe

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/protocol"
)

func TestTheSocketIsTheUsersAlone(t *testing.T) {
	p := probetest.New()
	dir := filepath.Join(t.TempDir(), "deep", "probe")
	probe := listening(t, p, Options{Dir: dir})
	for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, probe.Path(): os.ModeSocket | 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want mode %v", path, info.Mode(), err, want)
		}
	}
	if _, err := Listen(t.Context(), Options{Dir: dir}, p); err == nil || !strings.Contains(err.Error(), "one probe is enough") {
		t.Errorf("a second probe at the same place: %v", err)
	}
	fatal.If(t, probe.Close())
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestFoldersThatAreRefused(t *testing.T) {
	tests := map[string]struct {
		make   func(t *testing.T, path string)
		reason string
	}{
		"a link": {func(t *testing.T, path string) {
			t.Helper()
			target := path + "-target"
			fatal.If(t, os.Mkdir(target, 0o700), os.Symlink(target, path))
		}, "is a symbolic link"},
		"a file": {func(t *testing.T, path string) {
			t.Helper()
			fatal.If(t, os.WriteFile(path, nil, 0o600))
		}, "is not a folder"},
		"one that its group may write to": {func(t *testing.T, path string) {
			t.Helper()
			fatal.If(t, os.Mkdir(path, 0o700), os.Chmod(path, 0o720))
		}, "has mode 0720, which lets others in"},
		"one that others may look into": {func(t *testing.T, path string) {
			t.Helper()
			fatal.If(t, os.Mkdir(path, 0o700), os.Chmod(path, 0o705))
		}, "has mode 0705, which lets others in"},
		"another user's": {func(t *testing.T, path string) {
			t.Helper()
			if os.Geteuid() != 0 {
				t.Skip("only root can make another user's folder")
			}
			fatal.If(t, os.Mkdir(path, 0o700), os.Chown(path, 65534, 65534))
		}, "belongs to user 65534 and not to user 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "probe")
			test.make(t, dir)
			_, err := Listen(t.Context(), Options{Dir: dir}, probetest.New())
			var refused *protocol.FolderError
			if !errors.As(err, &refused) || refused.Reason != test.reason {
				t.Errorf("got %v, want it refused because it %s", err, test.reason)
			}
		})
	}
}

func TestSocketsThatWereLeftBehindAreRemovedAndOthersAreNot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "probe")
	fatal.If(t, os.Mkdir(dir, 0o700))
	leave(t, filepath.Join(dir, "999999-1.sock"))
	fatal.If(t, os.WriteFile(filepath.Join(dir, "999998-1.sock"), []byte("a file"), 0o600))
	fatal.If(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	other := listening(t, probetest.New(), Options{Path: filepath.Join(dir, "999997-1.sock")})
	probe := listening(t, probetest.New(), Options{Dir: dir})
	for name, want := range map[string]bool{
		"999999-1.sock": false, "999998-1.sock": true, "notes.txt": true,
		filepath.Base(other.Path()): true, filepath.Base(probe.Path()): true,
	} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
}

func TestAProbeTakesThePlaceOfOneThatWasKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "probe", "here.sock")
	fatal.If(t, os.Mkdir(filepath.Dir(path), 0o700))
	leave(t, path)
	leave(t, filepath.Join(filepath.Dir(path), ".here.sock"))
	probe := listening(t, probetest.New(), Options{Path: path})
	if status, text := newClient(t, probe, "").ask(t, "GET", "/v1/info", ""); status != 200 {
		t.Errorf("got %d: %s", status, text)
	}
}

// leave makes a socket without a listener.
func leave(t *testing.T, path string) {
	t.Helper()
	name, release, err := protocol.Reach(path)
	fatal.If(t, err)
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	fatal.If(t, err)
	l.SetUnlinkOnClose(false)
	fatal.If(t, l.Close())
}

func TestAPathThatDoesNotFitIntoAnAddress(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if runtime.GOOS != "linux" {
		_, err := Listen(t.Context(), Options{Dir: dir}, probetest.New())
		if err == nil || !strings.Contains(err.Error(), "set MEMTOP_DIR to a shorter one") {
			t.Errorf("got %v", err)
		}
		return
	}
	probe := listening(t, probetest.New(), Options{Dir: dir})
	if status, text := newClient(t, probe, "").ask(t, "GET", "/v1/info", ""); status != 200 {
		t.Errorf("got %d: %s", status, text)
	}
	if protocol.Stale(t.Context(), probe.Path()) {
		t.Error("it passes for one that was left behind")
	}
}

func TestTheKernelSaysWhoIsAtTheOtherEnd(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	c, err := dial(t.Context(), probe.Path())
	fatal.If(t, err)
	defer shut(c)
	who, err := protocol.PeerOf(c.(*net.UnixConn))
	if errors.Is(err, protocol.ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil || who.PID != syscall.Getpid() || who.UID != os.Geteuid() {
		t.Errorf("got %+v, %v", who, err)
	}
}
