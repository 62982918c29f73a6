package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// arrivalReach is how many events Arrivals reads at most: as many as lie between
// two checkpoints of a large trace. Beyond that, AliveAt would be cheaper.
const arrivalReach = 1 << 17

// Arrivals returns the allocations that are alive right after event at but not
// right after event from, in the order of AliveAt. The other allocations of
// AliveAt(at) are those of AliveAt(from) that are still alive at at. Arrivals
// returns false if the moments are far apart, or if the trace has retags, so that
// allocations change while they live.
func (x *Index) Arrivals(from, at int) ([]trace.Allocation, bool) {
	from, at = x.clamp(from), x.clamp(at)
	if max(at-from, from-at) > arrivalReach || x.kinds[trace.Retag] > 0 {
		return nil, false
	}
	var came []trace.Allocation
	for i := from + 1; i <= at; i++ {
		if x.life.Closed(i) > at && x.events.At(i).Kind == trace.Alloc {
			came = append(came, x.life.Allocation(trace.AllocationID(i)))
		}
	}
	for i := at + 1; i <= from; i++ {
		if leaves, _ := x.life.Change(i, x.events.At(i).Kind); leaves != trace.NoAllocation {
			if a := x.life.Allocation(leaves); a.Open <= at {
				came = append(came, a)
			}
		}
	}
	slices.SortFunc(came, func(a, b trace.Allocation) int { return cmp.Compare(age(a.ID), age(b.ID)) })
	return sorted(came, bySize), true
}

// age is lower for older allocations, in the order of [trace.Lifetimes.Alive].
func age(id trace.AllocationID) int {
	if k, held := id.Held(); held {
		return k - trace.Never - 1
	}
	return int(id)
}
