package command

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"

	"golang.org/x/sys/unix"
)

// TestAStartedCommandEndsWithItsParent kills a process that has started a command, which has
// a pipe open.
func TestAStartedCommandEndsWithItsParent(t *testing.T) {
	const variable = "MEMTOP_TEST_STARTS"
	if pipe := os.Getenv(variable); pipe != "" {
		ended, err := Start(exec.Command("sh", "-c", "exec 9>"+pipe+"; echo >&9; exec sleep 1000"))
		t.Fatal(err, <-ended)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	fatal.If(t, unix.Mkfifo(pipe, 0o600))
	parent := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestAStartedCommandEndsWithItsParent$")
	parent.Env = append(os.Environ(), variable+"="+pipe)
	fatal.If(t, parent.Start())
	t.Cleanup(func() { _ = parent.Process.Kill(); _ = parent.Wait() })
	runs, err := os.Open(pipe) // waits for the command
	fatal.If(t, err)
	defer runs.Close()
	if _, err := runs.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(runs)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on without its parent")
	}
}

// TestGivingWay runs itself again: a priority that was given up does not come
// back.
func TestGivingWay(t *testing.T) {
	const inside = "MEMTOP_TEST_GIVES_WAY"
	if os.Getenv(inside) == "" {
		again := exec.Command(os.Args[0], "-test.run", "^TestGivingWay$", "-test.v")
		again.Env = append(os.Environ(), inside+"=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	GiveWay()
	done := make(chan struct{})
	go func() { // on a thread that begins afterwards
		defer close(done)
		runtime.LockOSThread()
	}()
	<-done
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		fatal.If(t, err)
		// The system call returns 20 less the niceness.
		switch got, err := syscall.Getpriority(syscall.PRIO_PROCESS, id); {
		case err == syscall.ESRCH:
		case err != nil:
			t.Fatal(err)
		case 20-got < lowered:
			t.Errorf("thread %d has niceness %d", id, 20-got)
		}
	}
}
