package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"memtop/cmd/command"
)

// TestAnInterruptEndsAReadThatNeverEnds lets memtop wait on a pipe that nobody
// writes to. The pipe can be opened for writing only once memtop reads it, so
// the signal cannot come too early.
func TestAnInterruptEndsAReadThatNeverEnds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipe to be had: %v", err)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), path, "report", pipe)
	program.Args[0] = "memtop"
	var stderr bytes.Buffer
	program.Stderr = &stderr
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := program.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait() // its exit code is looked at next
	if got := program.ProcessState.ExitCode(); got != command.ExitInterrupted {
		t.Errorf("exit code %d, want %d", got, command.ExitInterrupted)
	}
	if got, want := stderr.String(), "memtop: interrupted; nothing was changed\n"; got != want {
		t.Errorf("standard error is %q, want %q", got, want)
	}
}
