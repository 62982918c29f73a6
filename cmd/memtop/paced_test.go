package main

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// pace is the time of a step of the trainers that scripts start, with -short a longer
// one: the race detector has everything that looks at their past take twenty times
// as long.
func pace() time.Duration {
	if testing.Short() {
		return 100 * time.Millisecond
	}
	return 20 * time.Millisecond
}

// start runs a program until the script ends, and returns when it has said
// something. A trainer prints a line a step and waits while its pipe is full, so
// it makes as many steps a second as its lines are read: what is tested has the
// processors, and the trainer's past stays small.
func start(ts *testscript.TestScript, cmd *exec.Cmd) {
	cmd.Dir = ts.MkAbs(".")
	r, w, err := narrowPipe()
	ts.Check(err)
	cmd.Stdout = w
	ts.Check(cmd.Start())
	ts.Check(w.Close())
	lines := bufio.NewReaderSize(r, 1<<8)
	_, err = lines.ReadByte()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		readPaced(lines)
	}()
	ts.Defer(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); <-ended; _ = r.Close() })
	ts.Check(err)
}

// readPaced reads a line at a time, until the last one.
func readPaced(lines *bufio.Reader) {
	tick := time.NewTicker(pace())
	defer tick.Stop()
	for {
		switch _, err := lines.ReadSlice('\n'); {
		case err == nil:
			<-tick.C
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			_, _ = io.Copy(io.Discard, lines)
			return
		}
	}
}
