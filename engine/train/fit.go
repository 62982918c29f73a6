package train

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"memtop/snapshots/trace"
)

// Remedy is a change of settings that makes a plan need less memory.
type Remedy struct {
	Changes []trace.Value // the settings that differ
	Needs   Estimate      // with them
}

// Fits says whether the plan runs within its capacity, and what a step needs:
// where it does not fit, what it would take without the limit.
func (p Plan) Fits(ctx context.Context) (needs Estimate, fits bool, err error) {
	if needs, fits, err = p.Runs(ctx); err != nil || fits {
		return needs, fits, err
	}
	needs, err = p.unlimited().Estimate(ctx)
	return needs, false, err
}

// Runs says whether the plan runs within its capacity, and what a step needs if it
// does.
func (p Plan) Runs(ctx context.Context) (needs Estimate, runs bool, err error) {
	needs, err = p.Estimate(ctx)
	if errors.As(err, new(*OutOfMemoryError)) {
		return needs, false, nil
	}
	return needs, err == nil, err
}

// unlimited is the plan where memory has no end.
func (p Plan) unlimited() Plan {
	p.Capacity, p.Allocator.Limit = 0, 0
	return p
}

// Remedies rehearses what makes a plan fit that does not: checkpoints, and
// smaller parts of the batch, and if neither is enough both. It returns the
// first of each kind that fits, or, when there is none, the one that needs
// least.
func (p Plan) Remedies(ctx context.Context) (fitting []Remedy, least Remedy, err error) {
	block := []trace.Value{{Key: "checkpoint", Value: "block"}}
	for _, kind := range [][][]trace.Value{{block}, p.parts(nil)} {
		if fitting, least, err = p.first(ctx, kind, fitting, least); err != nil {
			return nil, least, err
		}
	}
	if len(fitting) > 0 {
		return fitting, least, nil
	}
	return p.first(ctx, p.parts(block), nil, least)
}

// first appends the first of some groups of changes that fits.
func (p Plan) first(ctx context.Context, groups [][]trace.Value, fitting []Remedy, least Remedy) ([]Remedy, Remedy, error) {
	for _, changes := range groups {
		s, err := p.Settings.changed(changes)
		if err != nil {
			return nil, least, err
		}
		q := p
		q.Settings = s
		needs, fits, err := q.Fits(ctx)
		if err != nil {
			return nil, least, err
		}
		r := Remedy{changes, needs}
		if fits {
			return append(fitting, r), least, nil
		}
		if least.Changes == nil || needs.Memory.PeakReserved < least.Needs.Memory.PeakReserved {
			least = r
		}
	}
	return fitting, least, nil
}

// parts adds to changes the sizes of parts in which a batch may run, the largest
// first.
func (p Plan) parts(changes []trace.Value) (list [][]trace.Value) {
	for _, n := range p.sizes()[1:] {
		list = append(list, append(slices.Clone(changes), trace.Value{Key: "micro_batch", Value: strconv.Itoa(n)}))
	}
	return list
}
