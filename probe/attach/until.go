package attach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// Followed is a process that is followed: a [*Client], or a test's.
type Followed interface {
	Trace() *trace.Trace
	Changed() <-chan struct{}
	Ended() <-chan struct{}
}

// ErrEnded says that the process ended before what was awaited.
var ErrEnded = errors.New("the process has ended")

// StuckError says that no step of a process has ended for so long.
type StuckError struct{ Since time.Duration }

// Error says for how long.
func (e StuckError) Error() string {
	return fmt.Sprintf("no step has ended for %v", e.Since.Round(time.Second))
}

// Until waits until done reports true of what is known of a process. The error is
// ErrEnded when the process ends before, and a StuckError when steps do not end.
func Until(ctx context.Context, c Followed, done func(*trace.Trace) bool) (*trace.Trace, error) {
	t := c.Trace()
	step, patience := LastStep(t), patienceWith(t)
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	for !done(t) {
		select {
		case <-c.Changed():
		case <-c.Ended():
			return c.Trace(), ErrEnded
		case <-stuck.C:
			return nil, StuckError{patience}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		t = c.Trace()
		if now := LastStep(t); now != step {
			step, patience = now, patienceWith(t)
			stuck.Reset(patience)
		}
	}
	return t, nil
}

// LastStep returns the number of the newest step, 0 when there is none.
func LastStep(t *trace.Trace) int64 {
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

// The first state of a program that measures its memory only while it is watched has no
// step yet. One is waited for as long as a few steps take, within bounds.
const (
	stepsAwaited  = 3
	longestWaited = 30 * time.Second
)

// AfterStep returns the trace of a program as soon as it has a step whose memory was
// measured, or the newest when that takes too long or the program counts no steps.
func AfterStep(ctx context.Context, c *Client, p Process) *trace.Trace {
	if p.Info.LastStep == nil {
		return c.Trace()
	}
	patience := stepsAwaited * time.Duration(p.Info.LastStep.Duration)
	ctx, cancel := context.WithTimeout(ctx, min(max(patience, Patience), longestWaited))
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
