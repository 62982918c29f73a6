package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// printRanks prints one state of every rank of a job: that of a process, its pid or its
// socket, or else the only one.
func (a *app) printRanks(ctx context.Context, args []string, e *elsewhere) error {
	job, err := a.jobOf(ctx, args, e)
	if err != nil {
		return err
	}
	rows, each, err := a.askRanks(ctx, job)
	if err != nil {
		return err
	}
	r, err := report.NewRanks(rows, each)
	if err != nil {
		return err
	}
	return a.print(r)
}

// jobOf returns the processes of the job that a process belongs to, or of the only job.
func (a *app) jobOf(ctx context.Context, args []string, e *elsewhere) ([]attach.Process, error) {
	if e.any() {
		all, failed, err := a.discoverThere(ctx, e)
		a.tell(failed)
		if err != nil {
			return nil, err
		}
		return onlyJob(slices.DeleteFunc(all, func(p attach.Process) bool { return !ofJob(p, e.job) }))
	}
	target := strings.Join(args, "")
	m, process, err := a.on(ctx, target)
	if err != nil {
		return nil, err
	}
	all, err := m.Discover(ctx)
	if err != nil {
		return nil, err
	}
	if process == "" {
		return onlyJob(all)
	}
	named := slices.IndexFunc(all, func(p attach.Process) bool { return strconv.Itoa(p.PID) == process || p.Socket == process })
	switch {
	case named < 0: // its error says why it is not there
		_, err := m.Dial(ctx, process, attach.DialOptions{})
		return nil, cmp.Or[error](err, &attach.NotFoundError{Target: "process " + target})
	case all[named].Problem != nil:
		return nil, all[named].Problem
	}
	if job := attach.JobOf(all, all[named]); job != nil {
		return job, nil
	}
	return nil, command.Usage("process "+target+" is no rank of a job", "memtop attach "+remote.Word(target)+" --once")
}

// onlyJob returns the processes of the only job that there is.
func onlyJob(all []attach.Process) (job []attach.Process, err error) {
	for _, p := range all {
		switch ranks := attach.JobOf(all, p); {
		case ranks == nil || contains(job, p):
		case job != nil:
			return nil, command.Usage("there are several jobs", fmt.Sprintf("memtop attach %s --all-ranks, or %s", remote.Word(targetOf(job[0])), remote.Word(targetOf(p))))
		default:
			job = ranks
		}
	}
	if job == nil {
		return nil, &attach.NotFoundError{Target: "job of several ranks that can be attached to"}
	}
	return job, nil
}

// askRanks asks all processes at the same time how they are. A process that does not
// answer has a row with its problem; where none does, the first problem is the error.
func (a *app) askRanks(ctx context.Context, job []attach.Process) ([]ranks.Row, []json.RawMessage, error) {
	rows, each, failed := make([]ranks.Row, len(job)), make([]json.RawMessage, len(job)), make([]error, len(job))
	var asked sync.WaitGroup
	for i, p := range job {
		asked.Go(func() {
			if failed[i] = p.Problem; failed[i] == nil {
				rows[i], each[i], failed[i] = a.stateOf(ctx, p)
			}
			if failed[i] != nil {
				source := sourceOf(p)
				rows[i], each[i] = source.problemOf(failed[i]), nil
			}
		})
	}
	asked.Wait()
	if err := context.Cause(ctx); err != nil || !slices.Contains(failed, nil) {
		return nil, nil, cmp.Or(err, failed[0])
	}
	return rows, each, nil
}

// stateOf attaches to a process for one state of it.
func (a *app) stateOf(ctx context.Context, p attach.Process) (ranks.Row, json.RawMessage, error) {
	c, err := a.dial(ctx, targetOf(p))
	if err != nil {
		return ranks.Row{}, nil, err
	}
	defer func() { _ = c.Close() }() // it was only read from
	t, err := a.chosen(afterStep(ctx, c, p))
	if err != nil {
		return ranks.Row{}, nil, err
	}
	live, row := report.LiveRank(t, p.Host)
	live.PID, row.PID = p.PID, p.PID // as this machine counts
	text, err := json.Marshal(live)
	return row, text, err
}

// The first state of a program that measures its memory only while it is watched has no
// step yet. One is waited for as long as a few steps take, within bounds.
const (
	stepsAwaited  = 3
	longestWaited = 30 * time.Second
)

// afterStep returns the trace of a program as soon as it has a step whose memory was
// measured, or the newest when that takes too long or the program counts no steps.
func afterStep(ctx context.Context, c *attach.Client, p attach.Process) *trace.Trace {
	if p.Info.LastStep == nil {
		return c.Trace()
	}
	patience := stepsAwaited * time.Duration(p.Info.LastStep.Duration)
	ctx, cancel := context.WithTimeout(ctx, min(max(patience, attach.Patience), longestWaited))
	defer cancel()
	for {
		t := c.Trace()
		if t.LastMeasured(p.Info.LastStep.Device) != nil {
			return t
		}
		select {
		case _, more := <-c.Changed():
			if !more {
				return c.Trace()
			}
		case <-ctx.Done():
			return t
		}
	}
}
