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

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/report"
)

// printRanks prints one state of every rank of a job. A pid or a socket names a
// process of the job; without one it is the only job.
func (d *dialer) printRanks(ctx context.Context, args []string, e *elsewhere) error {
	job, err := d.jobOf(ctx, args, e)
	if err != nil {
		return err
	}
	rows, each, err := d.askRanks(ctx, job)
	if err != nil {
		return err
	}
	r, err := report.NewRanks(rows, each)
	if err != nil {
		return err
	}
	return d.print(r)
}

// jobOf returns the processes of the job to which a process belongs, or of the
// only job.
func (d *dialer) jobOf(ctx context.Context, args []string, e *elsewhere) ([]attach.Process, error) {
	if e.any() {
		all, failed, err := e.discover(ctx, d.machines)
		d.tell(failed)
		if err != nil {
			return nil, err
		}
		return onlyJob(slices.DeleteFunc(all, func(p attach.Process) bool { return !p.OfJob(e.job) }))
	}
	target := strings.Join(args, "")
	m, process, err := d.machines.On(ctx, target)
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

// onlyJob returns the processes of the only job, and fails if there is not
// exactly one.
func onlyJob(all []attach.Process) (job []attach.Process, err error) {
	for _, p := range all {
		switch ranks := attach.JobOf(all, p); {
		case ranks == nil || slices.ContainsFunc(job, p.Same):
		case job != nil:
			return nil, command.Usage("there are several jobs", fmt.Sprintf("memtop attach %s --all-ranks, or %s", remote.Word(job[0].Target()), remote.Word(p.Target())))
		default:
			job = ranks
		}
	}
	if job == nil {
		return nil, &attach.NotFoundError{Target: "job of several ranks that can be attached to"}
	}
	return job, nil
}

// askRanks asks all processes for their state at the same time. A process that
// does not answer gets a row with its problem. If none answers, the first problem
// is the error.
func (d *dialer) askRanks(ctx context.Context, job []attach.Process) ([]ranks.Row, []json.RawMessage, error) {
	rows, each, failed := make([]ranks.Row, len(job)), make([]json.RawMessage, len(job)), make([]error, len(job))
	var asked sync.WaitGroup
	for i, p := range job {
		asked.Go(func() {
			if failed[i] = p.Problem; failed[i] == nil {
				rows[i], each[i], failed[i] = d.stateOf(ctx, p)
			}
			if failed[i] != nil {
				source := sourceOf(p)
				rows[i], each[i] = problemOf(&source, failed[i]), nil
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
func (d *dialer) stateOf(ctx context.Context, p attach.Process) (ranks.Row, json.RawMessage, error) {
	c, err := d.dial(ctx, p.Target())
	if err != nil {
		return ranks.Row{}, nil, err
	}
	defer func() { _ = c.Close() }() // it was only read from
	t, err := d.looked(ctx, c)
	if err == nil {
		t, err = d.settings.chosen(t)
	}
	if err != nil {
		return ranks.Row{}, nil, err
	}
	live, row := report.LiveRank(t, p.Host)
	live.PID, row.PID = p.PID, p.PID // as this machine counts
	text, err := json.Marshal(live)
	return row, text, err
}
