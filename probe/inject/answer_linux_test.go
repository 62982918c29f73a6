package inject

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"

	"golang.org/x/sys/unix"
)

// TestAnswersAreTakenFromAnAttacker has what is run for a program, and the program itself,
// answer with more than there is memory for, or never.
func TestAnswersAreTakenFromAnAttacker(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("the answers took %d bytes of memory", took)
		}
	}()
	t.Run("an interpreter that prints without end", func(t *testing.T) {
		if err := interpreted(t, "exec yes it says nothing"); err == nil || !strings.Contains(err.Error(), "it says nothing") {
			t.Errorf("got %v", err)
		}
	})
	for name, replace := range map[string]func(path string) error{
		"a file larger than memory": func(path string) error { return os.Truncate(path, 1<<40) },
		"a pipe that says nothing":  func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a link to another file":    func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := os.OpenRoot(t.TempDir())
			fatal.If(t, err)
			answer := filepath.Join(folder.Name(), "answer")
			fatal.If(t, os.WriteFile(answer, nil, 0o600))
			if replace(answer) != nil && (os.Remove(answer) != nil || replace(answer) != nil) {
				t.Fatal("it cannot be replaced")
			}
			p := &place{root: folder, answer: answer}
			defer p.clear()
			if err := p.await(t.Context(), &task{PID: os.Getpid(), Name: "process 1"}); err == nil {
				t.Error("the program is believed to have an agent")
			}
		})
	}
}

// interpreted has a script be the interpreter that asks a program to run the agent.
func interpreted(t *testing.T, script string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python3.14")
	fatal.If(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // a program
	program, err := os.Open(path)
	fatal.If(t, err)
	defer program.Close()
	return (&task{PID: os.Getpid(), Name: "process 1", executable: program}).remote(t.Context(), "script")
}

// TestWhatAnInterpreterStartsEndsWithIt has an interpreter leave a process behind that keeps
// its output open.
func TestWhatAnInterpreterStartsEndsWithIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ leaves, says string }{
		"it goes well": {"exit 0", ""},
		"it fails":     {"echo it says nothing; exit 1", "it says nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := filepath.Join(t.TempDir(), "open")
			fatal.If(t, unix.Mkfifo(open, 0o600))
			closes, err := os.OpenFile(open, os.O_RDONLY|unix.O_NONBLOCK, 0)
			fatal.If(t, err)
			defer closes.Close()
			err = interpreted(t, "exec 9>"+open+"; sleep 1000 & "+test.leaves)
			if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			fatal.If(t, closes.SetReadDeadline(time.Now().Add(deadline)))
			if _, err := io.ReadAll(closes); err != nil {
				t.Errorf("what it has started goes on: %v", err)
			}
		})
	}
}
