package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/snapshots/wire"
)

// childSocket names the environment variable by which a test's child knows
// that it is one, and what to watch.
const childSocket = "MEMTOP_TEST_WATCH"

// TestChildThatWatches is the viewer of the tests below: it takes the lease,
// says so, and watches until the stream ends.
func TestChildThatWatches(t *testing.T) {
	path := os.Getenv(childSocket)
	if path == "" {
		t.Skip("runs only as the child of other tests")
	}
	c := newClient(t, &Probe{socket: &socket{path: path}}, "child")
	s := c.stream(t, "?interval=50ms")
	s.next(t, wire.CountersFrame)
	if status, text := c.ask(t, http.MethodPost, "/v1/settings", set("amp", "bf16")); status != http.StatusOK {
		t.Fatalf("%d: %s", status, text)
	}
	fmt.Println("\nholding")
	for {
		if _, err := s.Next(); err != nil {
			fmt.Println("\nended")
			break
		}
	}
	fmt.Println("\nagain from", c.stream(t, "").next(t, wire.BaseFrame).First)
}

// child starts a viewer in a process of its own and waits until it holds the
// lease. The lines that it says follow.
func child(t *testing.T, probe *Probe) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildThatWatches$", "-test.v")
	command.Env = append(os.Environ(), childSocket+"="+probe.Path())
	out, err := command.StdoutPipe()
	must(t, err, command.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "holding" {
			return command, lines
		}
	}
	t.Fatalf("the child says nothing: %v", command.Wait())
	return nil, nil
}

func TestAViewerKilledWhileItHoldsTheLeaseBlocksNobody(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p})
	command, _ := child(t, probe)
	c := newClient(t, probe, "other")
	if status, text := c.ask(t, http.MethodPost, "/v1/settings", set("amp", "off")); status != http.StatusConflict {
		t.Fatalf("while it lives: %d %s", status, text)
	}
	must(t, command.Process.Kill())
	began := time.Now()
	probetest.Eventually(t, "the lease to be free", func() bool { return probe.changes.lease.held() == "" })
	t.Logf("free after %v", time.Since(began))
	if status, change := c.post(t, "amp", "off"); status != http.StatusOK || change.From != "bf16" {
		t.Errorf("afterwards: %d %+v", status, change)
	}
	_ = command.Wait() // it was killed
}

func TestAStoppedViewerHoldsUpNobody(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Control: p, Ring: 1 << 14, limits: limits{reply: 200 * time.Millisecond}})
	command, lines := child(t, probe)
	must(t, command.Process.Signal(syscall.SIGSTOP))
	other := newClient(t, probe, "other").stream(t, "?interval=50ms")
	at := other.next(t, wire.BaseFrame).First
	probetest.Eventually(t, "the stopped viewer to be left", func() bool {
		p.RunAt(100_000, 1_000)
		for at < p.Events { // the other receives everything meanwhile
			f := other.next(t, wire.EventsFrame)
			if f.First != at {
				t.Fatalf("events begin with %d, want %d", f.First, at)
			}
			at += int64(len(f.Events))
		}
		return probe.viewers.count() == 1
	})
	if held := probe.changes.lease.held(); held != "" {
		t.Errorf("%q holds the lease", held)
	}
	must(t, command.Process.Signal(syscall.SIGCONT))
	const again = "again from "
	for !strings.HasPrefix(lines.Text(), again) {
		if !lines.Scan() {
			t.Fatalf("the viewer that goes on does not begin again: %v", command.Wait())
		}
	}
	from, err := strconv.ParseInt(strings.TrimPrefix(lines.Text(), again), 10, 64)
	if err != nil || from > p.Events || from < p.Events-1<<14 {
		t.Errorf("it begins again from event %d, %v, of %d", from, err, p.Events)
	}
	must(t, command.Wait())
}

// TestAnotherUserIsRefused opens the folder and the socket to all users, which
// is a mistake, and asks as another user.
func TestAnotherUserIsRefused(t *testing.T) {
	probetest.AsOtherUsers(t)
	dir, err := os.MkdirTemp("", "memtop")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	probe := listening(t, probetest.New(), Options{Dir: filepath.Join(dir, "probe")})
	must(t, os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(probe.Path()), 0o755), os.Chmod(probe.Path(), 0o666))
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
