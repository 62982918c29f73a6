package analysis

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// additions are the ends of what backward added to a gradient that was there, by
// size. A gradient that is not there is not added to: it is what backward made.
type additions map[int64][]int

// note takes an allocation of a backward pass that its step frees.
func (s additions) note(r *reductions, a *trace.Allocation) {
	switch c := r.parts.all[r.parts.of(a)].Category; {
	case c != trace.Gradient && c != trace.BackwardTemporary, a.Close >= r.parts.stepEnd(a.Open):
	default:
		s[a.Size] = append(s[a.Size], a.Close)
	}
}

// dropGradients takes gradients away from the beginning of each later step until backward
// makes them again, as far as that is known, or until the program itself frees them.
func (r *reductions) dropGradients(c *reduction) {
	if c.Extent != savings.UntilBackward || len(c.remade) == 0 {
		return
	}
	for _, ends := range r.added {
		slices.Sort(ends)
	}
	for k, to := range append(slices.Clone(r.parts.ends), r.to) { // what follows the last step too
		from := 0
		if k > 0 {
			from = r.parts.ends[k-1]
		}
		used := make(map[int64]int)
		for i := range c.remade {
			a := &c.remade[i]
			if done := a.Close < to || k == len(r.parts.ends); done && k > 0 && a.Open < from && a.Close > from && from >= r.from {
				r.cutBetween(c, from, min(a.Close, to, r.to), a.Size)
				continue
			}
			if a.Open >= from || a.Close < to || to > r.to || from < r.from {
				continue
			}
			ends := r.added[a.Size]
			next, _ := slices.BinarySearch(ends, from)
			next += used[a.Size]
			if used[a.Size]++; next < len(ends) && ends[next] < to {
				r.cutBetween(c, from, ends[next], a.Size)
			}
		}
	}
}
