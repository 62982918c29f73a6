package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// endings are the signals that end memtop: its exit code and its last line.
var endings = map[syscall.Signal]struct {
	code int
	last string
}{
	syscall.SIGHUP: {129, "hung up"}, syscall.SIGINT: {130, "interrupted"},
	syscall.SIGQUIT: {131, "quit"}, syscall.SIGTERM: {143, "terminated"},
}

func send(t *testing.T, process *os.Process, s syscall.Signal) {
	t.Helper()
	if signal.Ignored(s) {
		t.Skipf("this test was started with %v ignored", s)
	}
	fatal.If(t, process.Signal(s))
}

// reader is memtop waiting for a pipe that nothing is written to. The pipe can be
// opened for writing only once memtop reads it, so no signal comes too early.
type reader struct {
	*exec.Cmd
	stderr bytes.Buffer
}

// startReader starts the test binary as memtop by a shell's command.
func startReader(t *testing.T, shell string) *reader {
	t.Helper()
	pipe, memtop := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "memtop")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipe to be had: %v", err)
	}
	program, err := os.Executable()
	fatal.If(t, err)
	fatal.If(t, os.Symlink(program, memtop))
	r := &reader{Cmd: exec.CommandContext(t.Context(), "sh", "-c", shell, memtop, "report", pipe)}
	r.Stderr = &r.stderr
	fatal.If(t, r.Start())
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	fatal.If(t, err)
	t.Cleanup(func() { _ = writer.Close() }) // nothing was written
	return r
}

func (r *reader) wantEnded(t *testing.T, code int, last string) {
	t.Helper()
	_ = r.Wait() // its exit code is looked at next
	if got := r.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	if got, want := r.stderr.String(), "memtop: "+last+"\n"; got != want {
		t.Errorf("standard error is %q, want %q", got, want)
	}
}

func TestASignalEndsAReadThatNeverEnds(t *testing.T) {
	t.Parallel()
	for s, want := range endings {
		t.Run(want.last, func(t *testing.T) {
			r := startReader(t, `exec "$0" "$@"`)
			send(t, r.Process, s)
			r.wantEnded(t, want.code, want.last)
		})
	}
}

// TestWhatOutlivesItsTerminalIsNotEndedByAHangup starts memtop as nohup does.
func TestWhatOutlivesItsTerminalIsNotEndedByAHangup(t *testing.T) {
	t.Parallel()
	r := startReader(t, `trap '' HUP; exec "$0" "$@"`)
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		send(t, r.Process, s)
	}
	r.wantEnded(t, 143, "terminated")
}
