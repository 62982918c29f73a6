package command

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
