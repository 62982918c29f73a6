package trace

import "math"

// NoAllocation is no allocation's id.
const NoAllocation AllocationID = math.MinInt32

// Change returns how event i, which is of that kind, changes the set of live
// allocations: which one leaves the set and which one joins it, or [NoAllocation].
// An alloc joins, and the allocation whose address it takes leaves. What a retag is
// about leaves with the note that it had, and joins with the new one.
func (l *Lifetimes) Change(i int, kind Kind) (leaves, joins AllocationID) {
	leaves, joins = NoAllocation, NoAllocation
	switch {
	case kind == Alloc:
		joins = AllocationID(i)
		if len(l.displaced) > 0 {
			if old, ok := l.displaced[int32(i)]; ok {
				leaves = old
			}
		}
	case kind.Closes() || kind == Retag:
		leaves = AllocationID(l.Closed(i))
		if kind == Retag {
			joins = leaves
		}
	}
	return leaves, joins
}

// About returns the allocation that event i made, ended or retagged, as it was known
// right after, and whether there is one.
func (l *Lifetimes) About(i int) (Allocation, bool) {
	leaves, joins := l.Change(i, l.events.At(i).Kind)
	id := joins
	if id == NoAllocation {
		id = leaves
	}
	if id == NoAllocation {
		return Allocation{}, false
	}
	return l.AllocationAt(id, i), true
}
