package main

import (
	"context"
	"slices"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// tellEvery is how often a screen tells a program's probe which leaks it shows: that replays the whole history.
const tellEvery = time.Minute

// tell tells a program's probe which leaks a trace of it shows, unless it knows: a viewer
// reaches a verdict over many steps, and the next one need not begin with nothing. An older
// probe takes no such news.
func tell(ctx context.Context, c *attach.Client, t *trace.Trace) {
	leaks, known := report.LearntOf(t)
	if known && t.Live.Connected && !slices.Equal(leaks, t.Live.Learnt) {
		_ = c.Tell(ctx, leaks)
	}
}

// telling calls tell now and then, and once more when stop is called.
func telling(ctx context.Context, c *attach.Client) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-quit:
				tell(ctx, c, c.Trace())
				return
			}
			tell(ctx, c, c.Trace())
		}
	}()
	return func() { close(quit); <-done }
}
