package command

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

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
