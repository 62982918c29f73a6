package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
)

// patience is how long a run may take.
const patience = 10 * time.Second

// outcome is what came of a run.
type outcome struct {
	code   int            // −1 when a signal ended it
	signal syscall.Signal // that ended it, 0 for none
	took   time.Duration
	peak   int64  // bytes resident at most
	stderr string // its beginning, or the screen at the end
	amiss  string // what is wrong with the characters it wrote, "" for nothing
	err    error  // it could not be run
}

// do runs the program and judges the outcome.
func (s *sample) do(i invocation) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.memtop, i.args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor", "XDG_CONFIG_HOME="+s.folder)
	var o outcome
	start := time.Now()
	if i.screen {
		o = look(ctx, cmd, s.number)
	} else {
		o = capture(cmd, i)
	}
	o.took = time.Since(start)
	if o.code != 0 && i.output != "" {
		o.err = errors.Join(o.err, os.Remove(i.output))
	}
	s.tally.run(i.name, o)
	if reason := o.judge(i); reason != "" {
		s.tally.fail(s, i, reason)
	}
}

// capture runs the program and watches what it writes.
func capture(cmd *exec.Cmd, i invocation) (o outcome) {
	stdout, stderr := &watcher{}, &watcher{}
	cmd.Stderr = stderr
	if i.output != "" {
		f, err := os.Create(i.output)
		if err != nil {
			return outcome{err: err}
		}
		defer func() { o.err = errors.Join(o.err, f.Close()) }()
		cmd.Stdout = f
	} else if !i.binary {
		cmd.Stdout = stdout
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{err: err}
	}
	o = ended(cmd.ProcessState)
	o.stderr = string(stderr.head)
	o.amiss = stdout.end("standard output") + stderr.end("standard error")
	return o
}

// ended returns how a process ended and what it took.
func ended(state *os.ProcessState) outcome {
	o := outcome{code: state.ExitCode(), peak: terminal.PeakMemory(state)}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		o.signal = status.Signal()
	}
	return o
}
