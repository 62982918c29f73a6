package trace

import "math"

// NoAllocation is an id that no allocation has.
const NoAllocation AllocationID = math.MinInt32

// Change returns how event i, whose kind the caller gives, changes the set of
// live allocations: the allocation that leaves the set and the allocation that
// joins it, or [NoAllocation]. An alloc joins; if another allocation was still
// open at its address, that allocation leaves. At a retag, the same allocation
// leaves with its old note and joins with its new note.
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
	case kind.Closes() || kind.Retags():
		leaves = AllocationID(l.Closed(i))
		if kind.Retags() {
			joins = leaves
		}
	}
	return leaves, joins
}

// About returns the allocation that event i made, ended or retagged, as it was
// known right after the event, and whether there is such an allocation.
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
