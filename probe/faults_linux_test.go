package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
)

// TestAnotherUserIsRefused opens the folder and the socket to all users, which
// is a mistake, and asks as another user.
func TestAnotherUserIsRefused(t *testing.T) {
	probetest.AsOtherUsers(t)
	dir, err := os.MkdirTemp("", "memtop")
	fatal.If(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	probe := listening(t, probetest.New(), Options{Dir: filepath.Join(dir, "probe")})
	fatal.If(t, os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(probe.Path()), 0o755), os.Chmod(probe.Path(), 0o666))
	err = onThread(func() error { return askAs(probe.Path(), 65534) })
	if err == nil || !strings.Contains(err.Error(), "403") || !strings.Contains(err.Error(), "you are user 65534: ask as that user or as root") {
		t.Errorf("got %v", err)
	}
}

// onThread runs f on a thread that ends with it. The first thread cannot end, and
// is what others see of the process: while it is held, another one is found.
func onThread(f func() error) error {
	said := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if syscall.Gettid() != syscall.Getpid() {
			said <- f()
			return
		}
		defer runtime.UnlockOSThread()
		said <- onThread(f)
	}()
	return <-said
}

// askAs asks for /v1/info as another user, and returns the answer as an error.
func askAs(path string, uid uintptr) error {
	const same = ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uid, same); errno != 0 {
		return errno
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	if _, err := io.WriteString(file, "GET /v1/info HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(file), nil)
	if err != nil {
		return err
	}
	defer shut(answer.Body)
	var e struct{ Error string }
	return errors.Join(errors.New(answer.Status), json.NewDecoder(answer.Body).Decode(&e), errors.New(e.Error))
}
