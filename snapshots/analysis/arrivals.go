package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// arrivalReach is over how many events Arrivals looks: as many as lie between
// two checkpoints of a large trace, so that AliveAt is not cheaper.
const arrivalReach = 1 << 17

// Arrivals returns what is held right after event at and is not right after
// event from, in the order of AliveAt. The rest of AliveAt(at) are those of
// AliveAt(from) whose life includes at. It gives up, and reports false, where
// the moments are far apart, and on a trace in which what is known of an
// allocation changes while it lives.
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
