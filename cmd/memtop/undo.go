package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/memtop/memtop/probe/attach"
	jobs "github.com/memtop/memtop/probe/job"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui"
)

// undo gives the settings of a process the values back with which it began, and
// returns the results.
func (v *viewer) undo(ctx context.Context, c *attach.Client, wait bool) ([]analysis.Experiment, error) {
	wanted := undoing(c.Trace().Live)
	if len(wanted) == 0 {
		return nil, nil
	}
	all := v.ranksWith(ctx, c)
	if len(all) < 2 || c.Trace().Live.Rank.Together {
		return v.change(ctx, c, wanted, wait)
	}
	changes, err := inRanks(ctx, all, c.Process(), wanted)
	if err != nil {
		return nil, err
	}
	return v.settled(ctx, c, changes, wait)
}

// undoing returns the settings that have other values than before their first
// change, with those. An action leaves nothing.
func undoing(l *trace.Live) []trace.Value {
	var back []trace.Value
	for i := range l.Options {
		o := &l.Options[i]
		first := slices.IndexFunc(l.Changes, func(c trace.Change) bool { return c.Key == o.Key })
		if first < 0 {
			continue
		}
		if was := l.Changes[first].From; was != o.Value && !o.IsAction(was) {
			back = append(back, trace.Value{Key: o.Key, Value: was})
		}
	}
	return back
}

// acceptance is how long all ranks may take to accept a change.
const acceptance = 30 * time.Second

// inRanks changes settings in ranks that do not agree by themselves, and returns the
// changes of one.
func inRanks(ctx context.Context, all []jobs.Member, one attach.Process, wanted []trace.Value) (made []trace.Change, err error) {
	ctx, cancel := context.WithTimeout(ctx, acceptance)
	defer cancel()
	follower := jobs.Follow(all, jobs.Options{})
	defer follower.Close()
	at := slices.IndexFunc(all, func(m jobs.Member) bool { return m.Process.Same(one) })
	for _, w := range wanted {
		change, err := follower.Set(ctx, at, w.Key, w.Value)
		if err != nil {
			return nil, err
		}
		made = append(made, change)
	}
	return made, nil
}

// showProgram runs the screen on a process, and says what its session leaves
// changed in it.
func (v *viewer) showProgram(ctx context.Context, c *attach.Client, files []tui.File, o tui.Options) error {
	m := tui.New(files, o)
	err := v.show(ctx, m)
	if left := m.Left(); left != "" && c.Trace().Live.Connected {
		v.note(fmt.Sprintf("process %d goes on with %s; memtop set %s --undo sets it back", c.Process().PID, left, remote.Word(c.Process().Target())))
	}
	return err
}
