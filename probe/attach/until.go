package attach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// Followed is a process that a client follows: a [*Client], or one of a test.
type Followed interface {
	Trace() *trace.Trace
	Changed() <-chan struct{}
	Ended() <-chan struct{}
}

// ErrEnded says that the process ended before the awaited condition.
var ErrEnded = errors.New("the process has ended")

// StuckError says for how long no step of a process has ended.
type StuckError struct{ Since time.Duration }

// Error gives the time.
func (e StuckError) Error() string {
	return fmt.Sprintf("no step has ended for %v", e.Since.Round(time.Second))
}

// Until waits until done reports true of a process's trace. The error is ErrEnded
// when the process ends first, and a StuckError when steps do not end.
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

// How long to wait for a step: many times as long as the known steps took, and at
// least this long.
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

// If a program measures its memory only while a viewer watches, its first state
// has no step yet. AfterStep waits for one as long as a few steps take, within
// bounds.
const (
	stepsAwaited  = 3
	longestWaited = 30 * time.Second
)

// AfterStep returns the trace of a program once it has a step with measured
// memory. It returns the newest trace when that takes too long or the program
// counts no steps.
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
