package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	jobs "github.com/memtop/memtop/probe/job"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui"
)

// showProcess runs the screen on a process, or on all ranks of the job that it is of.
func (a *app) showProcess(ctx context.Context, c *attach.Client) error {
	if all := a.ranksWith(ctx, c); len(all) > 1 {
		return a.showJob(ctx, c, all)
	}
	return a.showLive(ctx, c, false)
}

// ranksWith returns the ranks of the job that a process is of, nil where it is alone:
// those of its machine, and of all that the user named beside it.
func (a *app) ranksWith(ctx context.Context, c *attach.Client) []jobs.Member {
	if r := c.Trace().Live.Rank; r == nil || r.World < 2 {
		return nil
	}
	machines := []attach.Machine{attach.Here}
	if c.Process().Host != "" {
		machines = a.machines.reached()
	}
	var all []attach.Process
	at := make(map[string]attach.Machine, len(machines))
	for _, m := range machines {
		found, err := m.Discover(ctx)
		a.log.Info("ranks", "machine", m.Name(), "processes", len(found), "error", err)
		all, at[m.Name()] = append(all, found...), m
	}
	i := slices.IndexFunc(all, func(p attach.Process) bool { return same(p, c.Process()) })
	if i < 0 {
		return nil
	}
	var members []jobs.Member
	for _, p := range attach.JobOf(all, all[i]) {
		members = append(members, jobs.Member{Machine: at[p.Host], Process: p})
	}
	return members
}

// same reports whether two processes are one.
func same(p, q attach.Process) bool { return p.Host == q.Host && p.Socket == q.Socket }

// showJob runs the screen on all ranks of a job, at the one that is attached to. The
// others are attached to when they are entered.
func (a *app) showJob(ctx context.Context, c *attach.Client, all []jobs.Member) error {
	command.GiveWay()
	opened := &clients{ready: c}
	defer func() {
		opened.close()
		a.past(c.Trace(), deviceOf(c.Trace()))
	}()
	follower := jobs.Follow(all, jobs.Options{Interval: time.Duration(a.settings.interval), Gauge: a.gauges()})
	defer follower.Close()
	w, stop := newWriters(ctx)
	defer stop()
	o := a.screenOptions(w)
	o.ReadOnly, o.Ranks = a.settings.readOnly, follower
	files := make([]tui.File, len(all))
	for i := range all {
		p := all[i].Process
		if same(p, c.Process()) {
			o.First = i
		}
		files[i] = tui.File{Name: rankName(p), Live: true, Load: func(ctx context.Context, _ trace.Progress) (trace.Source, error) {
			return opened.open(p, func() (*attach.Client, error) { return a.dial(ctx, locator(p)) })
		}}
	}
	return a.show(ctx, tui.New(files, o))
}

// locator names a process so that it is found again: by its socket where that is.
func locator(p attach.Process) string {
	if p.Host == "" {
		return p.Socket
	}
	return targetOf(p)
}

// rankName is how the screen calls a rank.
func rankName(p attach.Process) string {
	if p.Info == nil {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("rank %d of %d", p.Info.Rank.Rank, p.Info.Rank.World)
}

// clients are the ranks that were attached to. The screen closes those that it lets go;
// closing one again does nothing. It is safe for concurrent use.
type clients struct {
	mu    sync.Mutex
	ready *attach.Client // was attached to before, nil once it was taken
	all   []*attach.Client
}

// open returns the client of a process.
func (o *clients) open(p attach.Process, dial func() (*attach.Client, error)) (trace.Source, error) {
	if c := o.take(p); c != nil {
		return c, nil
	}
	c, err := dial()
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(slices.DeleteFunc(o.all, func(old *attach.Client) bool { return same(old.Process(), p) }), c)
	return c, nil
}

// take returns the client that is there already, once.
func (o *clients) take(p attach.Process) *attach.Client {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.ready
	if c == nil || !same(c.Process(), p) {
		return nil
	}
	o.ready, o.all = nil, append(o.all, c)
	return c
}

func (o *clients) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ready != nil {
		_ = o.ready.Close() // it was only read from
	}
	for _, c := range o.all {
		_ = c.Close() // again, if the screen has done so
	}
}

// choices returns the processes that there is a choice of: of a job of several ranks
// one, which stands for all, those too that do not answer now.
func choices(all []attach.Process) []attach.Process {
	var list, others []attach.Process
	for _, p := range all {
		if ranks := attach.JobOf(all, p); !contains(others, p) && len(ranks) > 1 {
			others = append(others, ranks...)
			list = append(list, p)
		}
	}
	for _, p := range all {
		if !contains(others, p) {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b attach.Process) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID)) })
	return list
}

func contains(list []attach.Process, p attach.Process) bool {
	return slices.ContainsFunc(list, func(q attach.Process) bool { return same(p, q) })
}
