package trace

import "sort"

// # The purpose of an allocation may change
//
// Our own engine tags memory when it is allocated, and again when the engine
// learns more: if backward needs a result, the result becomes an activation. A
// retag event has the address; from then on its note replaces the allocation's. A
// PyTorch program may annotate memory after it was made (2.14), with the same effect.

// retagAt notes that event i says what the allocation at its address is for.
func (l *Lifetimes) retagAt(i int32, e *Event) {
	id, ok := l.about(i, e)
	if !ok {
		return
	}
	if l.retags == nil {
		l.retags = make(map[AllocationID][]int32)
	}
	l.retags[id] = append(l.retags[id], i)
}

// about joins event i with the allocation at its address. There is none if it was
// held from before, or if nothing is there.
func (l *Lifetimes) about(i int32, e *Event) (AllocationID, bool) {
	id := NoAllocation
	slot, ok := l.open.find(e.Addr)
	if ok {
		id = l.open.slots[slot].id
	}
	l.setPeer(i, int32(id))
	return id, ok
}

// NoteAt returns the note that an allocation has right after event at. The
// argument made is the note that it was made with.
func (l *Lifetimes) NoteAt(id AllocationID, at int, made NoteID) NoteID {
	if len(l.retags) == 0 {
		return made
	}
	return l.retaggedNote(id, at, made)
}

func (l *Lifetimes) retaggedNote(id AllocationID, at int, made NoteID) NoteID {
	retags := l.retags[id]
	if n := sort.Search(len(retags), func(k int) bool { return int(retags[k]) > at }); n > 0 {
		return l.events.At(int(retags[n-1])).Note
	}
	return made
}

// AllocationAt returns the allocation with that id as it was known right after
// event at.
func (l *Lifetimes) AllocationAt(id AllocationID, at int) Allocation {
	a := l.Allocation(id)
	a.Note = l.NoteAt(id, at, a.Note)
	return a
}

// lostAt notes that the program can no longer reach the allocation at an address.
func (l *Lifetimes) lostAt(i int32, e *Event) {
	id, ok := l.about(i, e)
	if !ok {
		return
	}
	if l.lost == nil {
		l.lost = make(map[AllocationID]int32)
	}
	if _, again := l.lost[id]; !again {
		l.lost[id] = i
	}
}

// Lost returns the event since which the program can no longer reach the
// allocation, or Never.
func (l *Lifetimes) Lost(id AllocationID) int {
	if i, ok := l.lost[id]; ok {
		return int(i)
	}
	return Never
}
