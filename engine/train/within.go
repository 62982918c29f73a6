package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/recompute"
	"github.com/memtop/memtop/snapshots/quantity"
)

// # Settings within a number of bytes
//
// A run can be made to need less in three ways, which leave the losses what they
// are but for rounding. Smaller parts of the batch cost the time to begin each
// part. Computing layers again costs the time of their forward passes. Memory on
// the host costs copies in every step, which on a device behind a bus are the
// slowest of all: it comes last, one kind after the other. Among parts and layers
// the search takes what costs least, by the times that were measured, or before
// that by [work]; a part more is taken to cost [partCost].

// partCost is what one part of a batch more costs, of the time of a step.
const partCost = 0.02

// passes is the time of a step, in forward passes: the backward pass takes two.
const passes = 3

// TooSmallError says that a run cannot do with so little memory.
type TooSmallError struct {
	Bytes, Least int64 // what was asked for, and what was found to be enough
}

// Error names the least.
func (e *TooSmallError) Error() string {
	return fmt.Sprintf("%s are too little: the least that this run can do with is %s", quantity.Exact(e.Bytes), quantity.Exact(e.Least))
}

// Within returns the settings of the plan, changed as little as it takes for no
// more than so many bytes to be reserved. The error is a [TooSmallError] when
// nothing is enough.
func (p Plan) Within(ctx context.Context, bytes int64) (Remedy, error) {
	p.Allocator.Limit, p.Settings = bytes, p.Settings.free()
	needs, fits, err := p.Runs(ctx)
	if unplanned := new(planError); !errors.As(err, &unplanned) && (err != nil || fits) {
		return Remedy{Needs: needs}, err
	}
	var least Plan // of what was tried
	for _, o := range p.Settings.Offload.more() {
		q := p
		q.Settings.Offload = o
		if best, err := q.cheapest(ctx); err != nil || best != nil {
			return best.remedy(p.Settings), err
		}
		least = q
	}
	n, err := least.least(ctx, bytes)
	if err != nil {
		return Remedy{}, err
	}
	return Remedy{}, &TooSmallError{bytes, n}
}

// more returns the choices of what the host holds, from o on.
func (o Offload) more() []Offload {
	list := []Offload{o}
	for _, part := range offloads {
		before := o
		if part.whole != nil {
			*part.whole(&o) = true
		} else {
			*part.layers(&o) = AllLayers
		}
		if o != before {
			list = append(list, o)
		}
	}
	return list
}

// candidate is a plan that fits.
type candidate struct {
	Plan
	needs Estimate
	cost  float64 // part of a step that it takes longer
}

// remedy says what is different from other settings.
func (c *candidate) remedy(before Settings) Remedy {
	if c == nil {
		return Remedy{}
	}
	return Remedy{changes(&before, &c.Settings), c.needs}
}

// cheapest returns the parts and layers that cost the least time of those that
// fit, nil when none do.
func (p Plan) cheapest(ctx context.Context) (best *candidate, err error) {
	if begins, err := p.begins(); err != nil || !begins {
		return nil, err
	}
	sizes := p.sizes()
	smallest := p.inPartsOf(sizes[len(sizes)-1])
	if c, err := smallest.recomputing(ctx); err != nil || c == nil {
		return nil, err
	}
	for _, n := range sizes {
		q := p.inPartsOf(n)
		parts, err := q.Settings.Parts(p.Batch)
		if err != nil {
			return nil, err
		}
		cost := partCost * float64(len(parts)-1)
		if best != nil && cost >= best.cost {
			break
		}
		c, err := q.recomputing(ctx)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		if c.cost += cost; best == nil || c.cost < best.cost {
			best = c
		}
	}
	return best, nil
}

// begins says whether there is room for what the run has before its first step, of
// which neither parts nor layers take anything away.
func (p Plan) begins() (bool, error) {
	p.Settings.Checkpoint = nn.Policy{}
	err := p.stage(func(*Trainer) error { return nil })
	if errors.As(err, new(*OutOfMemoryError)) {
		return false, nil
	}
	return err == nil, err
}

// sizes returns the sizes of parts to try, the largest first: as it is, and half
// of it as often as it goes.
func (p Plan) sizes() []int {
	parts, err := p.Settings.Parts(p.Batch)
	if err != nil {
		return []int{p.Batch}
	}
	list := []int{parts[0]}
	for n := parts[0] / 2; n > 0; n /= 2 {
		list = append(list, n)
	}
	return list
}

func (p Plan) inPartsOf(n int) Plan {
	if n != p.sizes()[0] {
		p.Settings.MicroBatch, p.Settings.Accumulate = n, 0
	}
	return p
}

// searches is how often the layers to compute again are chosen anew: what is
// reserved is more than what is allocated by an amount that only a rehearsal
// tells.
const searches = 6

// recomputing returns the layers to compute again that cost least of those with
// which the plan fits: none, or what the settings say, if that will do. It is nil
// when none will.
func (p Plan) recomputing(ctx context.Context) (*candidate, error) {
	needs, fits, err := p.Runs(ctx)
	if unplanned := new(planError); errors.As(err, &unplanned) {
		return nil, nil // these parts cannot keep to the plan that is wanted
	}
	if err != nil || fits {
		return &candidate{p, needs, 0}, err
	}
	f, err := p.profile(ctx)
	if err != nil {
		return nil, err
	}
	problem := f.problem(p.times)
	low, high := recompute.Least(problem), p.Allocator.Limit
	best, err := p.solved(ctx, f, problem, low)
	if err != nil || best == nil {
		return nil, err
	}
	limit := high
	for range searches {
		if limit <= low {
			break
		}
		c, err := p.solved(ctx, f, problem, limit)
		if err != nil {
			return nil, err
		}
		if c != nil {
			low = limit
			if c.cost < best.cost {
				best = c
			}
		} else {
			high = limit
		}
		limit = low + (high-low)/2
	}
	return best, nil
}

// solved returns the plan with the layers computed again that keep what is
// allocated within a limit, nil when it does not fit with them.
func (p Plan) solved(ctx context.Context, f profile, problem recompute.Problem, limit int64) (*candidate, error) {
	problem.Limit = limit
	solution, ok := recompute.Solve(problem)
	if !ok {
		return nil, nil
	}
	p.Settings.Checkpoint = f.policy(solution)
	needs, fits, err := p.Runs(ctx)
	if err != nil || !fits {
		return nil, err
	}
	return &candidate{p, needs, float64(solution.Cost) / float64(passes*max(f.whole(p.times), 1))}, nil
}

// least returns the smallest number of bytes, in steps of a device's granularity,
// that the plan can do with when nothing matters but memory.
func (p Plan) least(ctx context.Context, tooLittle int64) (int64, error) {
	sizes := p.sizes()
	p = p.inPartsOf(sizes[len(sizes)-1])
	f, err := p.profile(ctx)
	if err != nil {
		return 0, err
	}
	problem := f.problem(p.times)
	problem.Limit = recompute.Least(problem)
	if solution, ok := recompute.Solve(problem); ok {
		p.Settings.Checkpoint = f.policy(solution)
	}
	needs, err := p.unlimited().Estimate(ctx)
	if err != nil {
		return 0, err
	}
	low, high := tooLittle/granularity, (needs.Memory.PeakReserved+granularity-1)/granularity
	for low+1 < high {
		middle := low + (high-low)/2
		p.Allocator.Limit = middle * granularity
		_, fits, err := p.Runs(ctx)
		if err != nil {
			return 0, err
		}
		if fits {
			high = middle
		} else {
			low = middle
		}
	}
	return high * granularity, nil
}

// granularity is what devices hand out memory in.
const granularity = 2 << 20

// whole is the time of a forward pass.
func (f *profile) whole(times map[string]int64) (sum int64) {
	for i := range f.layers {
		if l := &f.layers[i]; len(times) == 0 {
			sum += work(l)
		} else if l.Name == "" || l.Name == "loss" { // each layer's time has its children's in it
			sum += times[l.Name]
		}
	}
	return sum
}
