package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots/trace"
)

// tellAfter is how long memtop waits for a program before it says so.
const tellAfter = time.Second

// looked returns the trace of a process that has measured a whole step since it is
// watched, if it measures only then. If that takes too long, the trace is what is
// known, and its Live.Looking says so. A process that ended has its last state.
func (d *dialer) looked(ctx context.Context, c *attach.Client) (*trace.Trace, error) {
	if isTerminal(d.stderr) {
		told := time.AfterFunc(tellAfter, func() {
			d.note(fmt.Sprintf("process %d measures a whole step, which takes a moment; Ctrl-C ends the wait", c.Process().PID))
		})
		defer told.Stop()
	}
	t, err := attach.Looked(ctx, c)
	if errors.Is(err, attach.ErrEnded) {
		err = nil
	}
	return t, err
}

// watchWhole watches a process until it has measured a whole step, and on until done
// is called. It does nothing to a process that always measures.
func (d *dialer) watchWhole(ctx context.Context, target string) (done func(), err error) {
	done = func() {}
	m, process, err := d.machines.On(ctx, target)
	if err != nil {
		return done, err
	}
	teller, err := m.Teller(ctx, process)
	if err != nil {
		return done, err
	}
	defer teller.Close()
	info, err := teller.Info(ctx)
	switch {
	case errors.As(err, new(*attach.MalformedError)):
		return done, nil // what is wrong with the program shows when it is asked for its memory
	case err != nil || !info.Looking:
		return done, err
	}
	c, err := d.dial(ctx, target)
	if err != nil {
		return done, err
	}
	t, err := d.looked(ctx, c)
	if err == nil && t.Live.Looking {
		d.note(fmt.Sprintf("process %d has measured no step yet: the history and what memory is for are missing", c.Process().PID))
	}
	return func() { _ = c.Close() }, err // it was only read from
}

// unseen returns the error about a process that has measured no step.
func unseen(p attach.Process, t *trace.Trace) error {
	cause := fmt.Sprintf("process %d has measured no step since memtop came, and advice is about a step", p.PID)
	if !t.Live.Connected {
		cause = fmt.Sprintf("process %d: %s", p.PID, t.Live.Note)
	}
	return command.Failure{
		Code: command.ExitError, Cause: cause,
		Remedy: fmt.Sprintf("memtop attach %s shows what is known", remote.Word(p.Target())),
	}
}
