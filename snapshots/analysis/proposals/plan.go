package proposals

import (
	"context"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// # The search
//
// If a program has more than a few settings, it cannot rehearse every
// combination. The search takes the useful proposals in their order, and adds
// each that lowers the peak further, until the plan fits. If needed, it also
// halves the samples that run at a time again. Then it removes the changes that
// are not needed, starting with the first. In every step the program rehearses
// the whole combination, so the plan's numbers are not sums of single
// predictions. At last the program rehearses the plan on a memory of the target's
// size, because a peak may be below the limit while its blocks are in too many
// pieces.

// Program answers questions about a running program. Both methods return nil if
// the program cannot answer.
type Program interface {
	Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error)
	// Headroom says how many samples at a time fit into a number of bytes; 0
	// means the whole memory of the device.
	Headroom(ctx context.Context, changes []trace.Value, capacity int64) (*trace.Headroom, error)
}

// Plan is a set of changes that brings the peak below a target.
type Plan struct {
	Proposal       // all changes together; none when it fits as it is
	Target   int64 // bytes
	Peak     int64 // bytes, as predicted
	// Fits says that a step with the changes needs no more than the target. If it
	// is false, the changes are those that save most.
	Fits bool
	// Rehearsed says that a run was rehearsed on a memory of the target's size;
	// otherwise the peak alone is compared.
	Rehearsed bool
}

// Search looks for changes that bring a peak below a target, both in bytes. It
// tries the proposals of the answer in their order.
func Search(ctx context.Context, p Program, a *Answer, peak, target int64) (*Plan, error) {
	s := searching{program: p, peak: peak, target: target}
	best, err := s.try(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, o := range a.Useful() {
		if best.Fits {
			break
		}
		next, err := s.try(ctx, with(best.Change, o.Change))
		if next == nil && err == nil {
			next, err = s.try(ctx, o.Change)
		}
		if err != nil {
			return nil, err
		}
		if next != nil && (next.Fits || next.Peak < best.Peak) {
			best = next
		}
	}
	if best, err = s.halve(ctx, best); err != nil {
		return nil, err
	}
	return s.prune(ctx, best)
}

type searching struct {
	program      Program
	peak, target int64
}

// try rehearses changes together. It returns nil if the program cannot predict
// them.
func (s *searching) try(ctx context.Context, changes []trace.Value) (*Plan, error) {
	plan := &Plan{Proposal: Proposal{Change: changes}, Target: s.target, Peak: s.peak}
	if len(changes) > 0 {
		p, err := s.program.Predict(ctx, changes)
		if p == nil || err != nil {
			return nil, ctx.Err() // it may predict one change at a time only
		}
		plan.Predicted, plan.Peak = *p, s.peak+p.PeakAllocated
	}
	if plan.Fits = plan.Peak <= s.target; !plan.Fits {
		return plan, nil
	}
	h, err := s.program.Headroom(ctx, changes, s.target)
	if h != nil && err == nil {
		plan.Rehearsed, plan.Fits = true, h.Most >= h.Samples
	}
	return plan, ctx.Err() // a program that does not know the question is compared by its peak
}

// halve runs fewer and fewer samples at a time, if a plan with half of them does
// not fit.
func (s *searching) halve(ctx context.Context, plan *Plan) (*Plan, error) {
	for !plan.Fits {
		i := slices.IndexFunc(plan.Change, func(v trace.Value) bool { return v.Key == halved })
		if i < 0 {
			return plan, nil
		}
		half, ok := half(plan.Change[i].Value)
		if !ok {
			return plan, nil
		}
		less, err := s.try(ctx, with(plan.Change, []trace.Value{{Key: halved, Value: half}}))
		if err != nil || less == nil || less.Peak >= plan.Peak {
			return plan, err
		}
		plan = less
	}
	return plan, nil
}

// prune leaves out the changes without which the plan fits too.
func (s *searching) prune(ctx context.Context, plan *Plan) (*Plan, error) {
	if !plan.Fits || len(plan.Change) < 2 {
		return plan, nil
	}
	for _, v := range slices.Clone(plan.Change) {
		without := slices.DeleteFunc(slices.Clone(plan.Change), func(o trace.Value) bool { return o == v })
		if len(without) == 0 {
			break
		}
		less, err := s.try(ctx, without)
		if err != nil {
			return nil, err
		}
		if less != nil && less.Fits {
			plan = less
		}
	}
	return plan, nil
}

// with adds more changes to changes. A new change replaces the change of the same
// setting, or holds beside it.
func with(changes, more []trace.Value) []trace.Value {
	all := slices.Clone(changes)
	for _, v := range more {
		if i := slices.IndexFunc(all, func(o trace.Value) bool { return o.Key == v.Key }); i >= 0 {
			v = join(all[i], v.Value)
			all = slices.Delete(all, i, i+1)
		}
		all = append(all, v)
	}
	return all
}
