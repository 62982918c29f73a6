package train

import (
	"context"
	"errors"

	"github.com/memtop/memtop/snapshots/trace"
)

// Remedy is a change of settings that makes a plan need less memory.
type Remedy struct {
	Changes []trace.Value // the settings that differ
	Needs   Estimate      // with them
}

// Fits reports whether the plan runs within its capacity, and what a step needs.
// If the plan does not fit, these are the needs without the limit.
func (p Plan) Fits(ctx context.Context) (needs Estimate, fits bool, err error) {
	if needs, fits, err = p.Runs(ctx); err != nil || fits {
		return needs, fits, err
	}
	needs, err = p.unlimited().Estimate(ctx)
	return needs, false, err
}

// Runs reports whether the plan runs within its capacity, and, if so, what a step
// needs.
func (p Plan) Runs(ctx context.Context) (needs Estimate, runs bool, err error) {
	needs, err = p.Estimate(ctx)
	if errors.As(err, new(*OutOfMemoryError)) {
		return needs, false, nil
	}
	return needs, err == nil, err
}

// unlimited returns the plan with unlimited memory.
func (p Plan) unlimited() Plan {
	p.Capacity, p.Allocator.Limit, p.Settings = 0, 0, p.Settings.free()
	return p
}
