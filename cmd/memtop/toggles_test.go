package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/trace"
)

// toggles makes every change of a single setting that a process offers, and undoes
// it, as the keys of the screen and memtop set do: each must hold in a step.
//
//	toggles PID
func toggles(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := attach.Dial(ctx, args[0], attach.DialOptions{Interval: shortest})
	ts.Check(err)
	defer func() { _ = c.Close() }()
	options := c.Trace().Live.Options
	for _, change := range proposals.Candidates(options) {
		i := slices.IndexFunc(options, func(o trace.Option) bool { return o.Key == change.Key })
		for _, v := range []trace.Value{change, {Key: change.Key, Value: options[i].Value}} {
			ts.Check(holds(ctx, c, v))
		}
		ts.Logf("%s=%s and back to %s", change.Key, change.Value, options[i].Value)
	}
}

// holds makes a change and waits until a step has it.
func holds(ctx context.Context, c *attach.Client, v trace.Value) error {
	made, err := c.Set(ctx, v.Key, v.Value)
	if err != nil {
		return err
	}
	_, err = attach.Until(ctx, c, func(t *trace.Trace) bool {
		i := slices.IndexFunc(t.Live.Changes, func(o trace.Change) bool { return o.ID == made.ID })
		if i >= 0 {
			made = t.Live.Changes[i]
		}
		return made.State != trace.Pending
	})
	if err == nil && (made.State != trace.Applied || made.To != v.Value) {
		err = fmt.Errorf("%s=%s: %+v", v.Key, v.Value, made)
	}
	return err
}
