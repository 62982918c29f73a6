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
// There are three ways to make a run need less memory; they change the losses
// only by rounding. Smaller parts of the batch cost the time to begin each part.
// Computing layers again costs the time of their forward passes. Memory on the
// host costs copies in every step, which are the slowest on a device behind a
// bus, so the search tries the host last, one kind of tensor after the other.
// Among parts and layers the search takes the cheapest choice by [work]. It counts
// [partCost] for each further part.

// partCost is the cost of one more part of a batch, as a fraction of a step's
// time.
const partCost = 0.02

// passes is the time of a step, in forward passes: the backward pass takes two.
const passes = 3

// TooSmallError says that a run cannot fit into so little memory.
type TooSmallError struct {
	Bytes, Least int64 // what was asked for, and what was found to be enough
}

// Error names the least number of bytes that is enough.
func (e *TooSmallError) Error() string {
	return fmt.Sprintf("%s are too little: the least that this run can do with is %s", quantity.Exact(e.Bytes), quantity.Exact(e.Least))
}

// Within returns the settings of the plan, changed as little as needed so that
// the device reserves no more than the given bytes. The error is a
// [TooSmallError] if no change is enough.
func (p Plan) Within(ctx context.Context, bytes int64) (Remedy, error) {
	p.Allocator.Limit, p.Settings = bytes, p.Settings.free()
	needs, fits, err := p.Runs(ctx)
	if err != nil || fits {
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

// more returns the choices for Offload, from o on.
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

// remedy returns the differences from the settings before.
func (c *candidate) remedy(before Settings) Remedy {
	if c == nil {
		return Remedy{}
	}
	return Remedy{changes(&before, &c.Settings), c.needs}
}

// cheapest returns the parts and layers that fit at the least cost in time, nil
// if none fit.
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

// begins reports whether there is room for the memory that the run has before its
// first step. Neither parts nor layers make that smaller.
func (p Plan) begins() (bool, error) {
	p.Settings.Checkpoint = nn.Policy{}
	err := p.stage(func(*Trainer) error { return nil })
	if errors.As(err, new(*OutOfMemoryError)) {
		return false, nil
	}
	return err == nil, err
}

// sizes returns the sizes of parts to try, the largest first: the present size,
// then repeatedly half of it.
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

// searches is how often the search chooses the layers to compute again. It needs
// several tries because only a rehearsal tells by how much reserved memory
// exceeds allocated memory.
const searches = 6

// recomputing returns the cheapest layers to compute again with which the plan
// fits. If the plan fits with no layers, or with the layers of the settings, it
// returns these. It returns nil if the plan fits with none.
func (p Plan) recomputing(ctx context.Context) (*candidate, error) {
	needs, fits, err := p.Runs(ctx)
	if err != nil || fits {
		return &candidate{p, needs, 0}, err
	}
	f, err := p.profile(ctx)
	if err != nil {
		return nil, err
	}
	problem := f.problem()
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

// solved returns the plan with the recomputed layers that keep allocated memory
// within a limit, nil if the plan does not fit with them.
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
	return &candidate{p, needs, float64(solution.Cost) / float64(passes*max(f.whole(), 1))}, nil
}

// least returns the smallest number of bytes with which the plan can run if only
// memory matters, in steps of a device's granularity.
func (p Plan) least(ctx context.Context, tooLittle int64) (int64, error) {
	sizes := p.sizes()
	p = p.inPartsOf(sizes[len(sizes)-1])
	f, err := p.profile(ctx)
	if err != nil {
		return 0, err
	}
	problem := f.problem()
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

// granularity is the unit in which devices hand out memory.
const granularity = 2 << 20

// whole returns the work of a forward pass.
func (f *profile) whole() (sum int64) {
	for i := range f.layers {
		sum += work(&f.layers[i])
	}
	return sum
}
