package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	jobs "github.com/memtop/memtop/probe/job"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui"
)

// showProcess runs the screen on a process, or on all ranks of its job.
func (v *viewer) showProcess(ctx context.Context, c *attach.Client) error {
	if all := v.ranksWith(ctx, c); len(all) > 1 {
		return v.showJob(ctx, c, all)
	}
	return v.showLive(ctx, c, false)
}

// ranksWith returns the ranks of a process's job, nil if it is alone: the ranks
// on its machine, and on all other machines that the user named.
func (v *viewer) ranksWith(ctx context.Context, c *attach.Client) []jobs.Member {
	if r := c.Trace().Live.Rank; r == nil || r.World < 2 {
		return nil
	}
	machines := []attach.Machine{attach.Here}
	if c.Process().Host != "" {
		machines = v.machines.Reached()
	}
	var all []attach.Process
	at := make(map[string]attach.Machine, len(machines))
	for _, m := range machines {
		found, err := m.Discover(ctx)
		v.log.Info("ranks", "machine", m.Name(), "processes", len(found), "error", err)
		all, at[m.Name()] = append(all, found...), m
	}
	i := slices.IndexFunc(all, func(p attach.Process) bool { return p.Same(c.Process()) })
	if i < 0 {
		return nil
	}
	var members []jobs.Member
	for _, p := range attach.JobOf(all, all[i]) {
		members = append(members, jobs.Member{Machine: at[p.Host], Process: p})
	}
	return members
}

// showJob runs the screen on all ranks of a job, beginning at the attached rank.
// memtop attaches to another rank when the user opens it.
func (v *viewer) showJob(ctx context.Context, c *attach.Client, all []jobs.Member) error {
	command.GiveWay()
	opened := jobs.NewClients(c)
	defer opened.Close()
	follower := jobs.Follow(all, jobs.Options{Interval: time.Duration(v.settings.interval), Gauge: v.gauges()})
	defer follower.Close()
	w, stop := newWriters(ctx)
	defer stop()
	o := v.screenOptions(w)
	o.ReadOnly, o.Ranks = v.settings.readOnly, follower
	files := make([]tui.File, len(all))
	for i := range all {
		p := all[i].Process
		if p.Same(c.Process()) {
			o.First = i
		}
		files[i] = tui.File{Name: rankName(p), Live: true, Load: func(ctx context.Context, _ trace.Progress) (trace.Source, error) {
			return opened.Open(p, func() (*attach.Client, error) { return v.dial(ctx, locator(p)) })
		}}
	}
	return v.showProgram(ctx, c, files, o)
}

// locator names a process so that it can be found again: by its socket if it has
// one.
func locator(p attach.Process) string {
	if p.Host == "" {
		return p.Socket
	}
	return p.Target()
}

// rankName returns the name of a rank on the screen.
func rankName(p attach.Process) string {
	if p.Info == nil {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("rank %d of %d", p.Info.Rank.Rank, p.Info.Rank.World)
}
