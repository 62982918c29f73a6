package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// alive returns the live allocations right after an event, the oldest first:
// those from before recording, then the others in the order in which they were
// made. Callers must not change the result: at the end of the trace, where a page
// that follows the program looks, and at the moment asked last, all callers share it.
func (x *mapper) alive(at int) []trace.Allocation {
	if at < x.End() {
		return x.latest.get(x, at, x.aliveAt)
	}
	return x.live.get(x, func([]trace.Allocation) []trace.Allocation { return x.aliveAt(at) })
}

// sorted returns allocations by key, the smallest first, and keeps the order
// of equal ones.
func sorted(all []trace.Allocation, key func(a *trace.Allocation) uint64) []trace.Allocation {
	type keyed struct { // moved in place of allocations, which are large
		key uint64
		at  int32
	}
	items := make([]keyed, len(all))
	for i := range all {
		items[i] = keyed{key(&all[i]), int32(i)}
	}
	slices.SortFunc(items, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
	out := make([]trace.Allocation, len(all))
	for i, item := range items {
		out[i] = all[item.at]
	}
	return out
}

func byAddress(a *trace.Allocation) uint64 { return a.Addr }

// bySize puts the largest first.
func bySize(a *trace.Allocation) uint64 { return ^uint64(a.Size) }
