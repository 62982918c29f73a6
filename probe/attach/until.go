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

// A program that measures its memory only while a viewer watches needs a whole
// step before it knows what the memory is for. Looked waits for it as long as a
// few steps take, within bounds; no step at all may mean that none comes.
const (
	stepsAwaited  = 3
	leastAwaited  = 30 * time.Second
	mostAwaited   = 10 * time.Minute
	withoutAwaits = 10 * time.Second
)

// Looked returns the trace of a program once it has measured a whole step. If that
// takes too long, it returns the newest trace, whose Live.Looking is still true.
// It returns ErrEnded beside the last trace when the process ends first.
func Looked(ctx context.Context, c Followed) (*trace.Trace, error) {
	began := time.Now()
	t := c.Trace()
	late := time.NewTimer(awaited(t))
	defer late.Stop()
	for Looking(t) {
		select {
		case <-c.Changed():
		case <-c.Ended():
			return c.Trace(), ErrEnded
		case <-late.C:
			return t, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		t = c.Trace()
		late.Reset(awaited(t) - time.Since(began))
	}
	return t, nil
}

// Looking reports whether a program has yet to measure a whole step.
func Looking(t *trace.Trace) bool { return t.Live != nil && t.Live.Connected && t.Live.Looking }

// awaited returns how long to wait for a whole step of a program.
func awaited(t *trace.Trace) time.Duration {
	n := len(t.Steps)
	if n == 0 {
		return withoutAwaits
	}
	return min(max(leastAwaited, stepsAwaited*time.Duration(t.Steps[n-1].Duration)), mostAwaited)
}
