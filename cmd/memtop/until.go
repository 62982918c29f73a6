package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// followed is a process that is followed: an *attach.Client, or a test's.
type followed interface {
	Trace() *trace.Trace
	Changed() <-chan struct{}
	Ended() <-chan struct{}
}

// errEnded says that the process ended before what was awaited.
var errEnded = errors.New("the process has ended")

// stuckError says that no step of a process has ended for so long.
type stuckError struct{ since time.Duration }

func (e stuckError) Error() string {
	return fmt.Sprintf("no step has ended for %v", e.since.Round(time.Second))
}

// until waits until done reports true of what is known of a process. The error is
// errEnded when the process ends before, and a stuckError when steps do not end.
func until(ctx context.Context, c followed, done func(*trace.Trace) bool) (*trace.Trace, error) {
	t := c.Trace()
	step, patience := lastStep(t), patienceWith(t)
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	for !done(t) {
		select {
		case <-c.Changed():
		case <-c.Ended():
			return c.Trace(), errEnded
		case <-stuck.C:
			return nil, stuckError{patience}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		t = c.Trace()
		if now := lastStep(t); now != step {
			step, patience = now, patienceWith(t)
			stuck.Reset(patience)
		}
	}
	return t, nil
}

// lastStep returns the number of the newest step, 0 when there is none.
func lastStep(t *trace.Trace) int64 {
	if n := len(t.Steps); n > 0 {
		return t.Steps[n-1].Number
	}
	return 0
}

// How long a step is waited for: as long as many of those that are known took, and
// at any rate so long.
const (
	leastPatience = 2 * time.Minute
	patienceSteps = 10
)

func patienceWith(t *trace.Trace) time.Duration {
	patience := leastPatience
	for i := range t.Steps {
		patience = max(patience, patienceSteps*time.Duration(t.Steps[i].Duration))
	}
	return patience
}
