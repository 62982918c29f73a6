package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/gauge"
	"github.com/memtop/memtop/probe/inject"
	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/tui"
)

// When memtop starts the agent in a program that has none.
const (
	injectAsk    = "ask" // on a terminal, each time
	injectAlways = "always"
	injectNever  = "never"
)

var injections = []string{injectAsk, injectAlways, injectNever}

// dialOrInject attaches to a process. If the process is a PyTorch program without
// the agent and the user agrees, it first injects the agent.
func (v *viewer) dialOrInject(ctx context.Context, target string) (*attach.Client, error) {
	c, err := v.dialBeginning(ctx, target)
	var none *attach.NoProbeError
	if !errors.As(err, &none) || none.Host != "" || v.settings.inject == injectNever || none.Kind() != attach.PyTorchKind {
		return c, err
	}
	plan, refused := inject.NewPlan(none.PID)
	if refused != nil {
		return nil, refused
	}
	if v.settings.inject != injectAlways {
		if !v.interactive() {
			return nil, err
		}
		if err := v.agree(ctx, plan); err != nil {
			return nil, err
		}
	}
	if isTerminal(v.stderr) {
		fmt.Fprintf(v.stderr, "starting the agent in process %d ...\n", none.PID)
	}
	start := time.Now()
	err = plan.Start(ctx)
	v.log.Info("inject", "pid", none.PID, "how", plan.How(), "took", time.Since(start), "error", err)
	if err != nil {
		return nil, err
	}
	return v.dial(ctx, target)
}

// beginning is how long a program under memtop run may take to start its agent, and
// young how long one may take to come to that. An older one had an agent, whose host has
// ended.
const (
	beginning  = 10 * time.Second
	young      = time.Minute
	askedAgain = 100 * time.Millisecond
)

// dialBeginning attaches to a process. If memtop run started the process, it
// waits for the agent, which starts when the program has imported PyTorch; before
// that there is nothing to see. The error is that of a process without an agent.
func (v *viewer) dialBeginning(ctx context.Context, target string) (*attach.Client, error) {
	c, err := v.dial(ctx, target)
	var none *attach.NoProbeError
	if !errors.As(err, &none) || none.Host != "" || !python.Starts(procfs.Environment(none.PID)) || attach.KindOf(none.PID) == attach.LauncherKind {
		return c, err
	}
	if age, unknown := procfs.Age(none.PID); unknown == nil && age > young {
		return nil, err
	}
	if isTerminal(v.stderr) {
		fmt.Fprintf(v.stderr, "process %d has no agent yet: it starts when PyTorch is imported ...\n", none.PID)
	}
	soon, cancel := context.WithTimeout(ctx, beginning)
	defer cancel()
	again := time.NewTicker(askedAgain)
	defer again.Stop()
	for errors.As(err, &none) {
		select {
		case <-soon.Done():
			return nil, cmp.Or(ctx.Err(), err)
		case <-again.C:
			c, err = v.dial(ctx, target)
		}
	}
	return c, err
}

// agree asks whether the agent may be started in a process.
func (s *screen) agree(ctx context.Context, plan *inject.Plan) error {
	q := &tui.Question{Text: fmt.Sprintf(`Process %d is a PyTorch program without memtop's agent:

  %s

memtop can start the agent in it: %s. %s

The agent runs in threads of its own in the program, measures its memory while you watch, and listens on a socket that is closed to other users. If that fails, the program goes on unchanged.

Start it?   y yes   n no`, plan.Program().PID, plan.Program().Command, plan.How(), plan.As())}
	if err := s.show(ctx, q); err != nil {
		return err
	}
	if !q.Yes {
		return errLeft
	}
	return nil
}

// onCards returns the processes that use a GPU, according to its driver.
func (d *dialer) onCards() []int {
	reader, err := gauge.Open()
	if err != nil {
		d.log.Info("driver", "error", err)
		return nil
	}
	defer func() { _ = reader.Close() }() // it was only read
	pids, err := reader.Users()
	d.log.Info("driver", "error", err)
	return pids
}

// bare returns the PyTorch programs that have no agent.
func (d *dialer) bare(ctx context.Context, found []attach.Process) []attach.Process {
	known := make(map[int]bool)
	for _, p := range found {
		known[p.PID] = true
	}
	all, err := attach.Bare(ctx, d.onCards())
	d.log.Info("without an agent", "error", err)
	return slices.DeleteFunc(all, func(p attach.Process) bool { return known[p.PID] })
}

// wayIn returns a command that helps with a program without an agent. If that
// command is not attach, it also returns the reason in one line.
func wayIn(pid int) (remedy, reason string) {
	_, err := inject.NewPlan(pid)
	var refused *inject.RefusedError
	switch {
	case err == nil:
		return "memtop attach " + strconv.Itoa(pid), ""
	case errors.As(err, &refused):
		return refused.Remedy, refused.Cause
	default:
		return "", err.Error()
	}
}

// history is the remedy for a PyTorch program on a GPU without memtop's agent.
const history = "call torch.cuda.memory._record_memory_history() in it, later torch.cuda.memory._dump_snapshot(\"snap.pickle\"), " +
	"then: memtop open snap.pickle"

// withoutAgent returns cause and remedy for a PyTorch program without an agent.
func withoutAgent(pid int) (cause, remedy string) {
	cause = fmt.Sprintf("process %d is a PyTorch program, which has no agent", pid)
	remedy, reason := wayIn(pid)
	switch {
	case reason != "":
		return cause + ", and " + reason, strings.TrimPrefix(remedy+", or "+history, ", or ")
	default:
		return cause, remedy + " starts one in it, on a terminal or with --inject always; or " + history
	}
}
