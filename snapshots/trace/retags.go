package trace

import (
	"math"
	"sort"
)

// # What an allocation is for may change
//
// Our own engine tags memory when it is allocated and again when it finds out
// more: a result that backward needs becomes an activation. A retag names the
// address; its note replaces the allocation's from then on.

// nothing is the peer of an event that is about an allocation, and finds none.
const nothing = math.MinInt32

// retagAt notes that event i says what the allocation at its address is for.
func (l *Lifetimes) retagAt(i int32, e *Event) {
	l.setPeer(i, nothing)
	slot, ok := l.open.find(e.Addr)
	if !ok {
		return // held from before, or nothing: there is no allocation to retag
	}
	id := l.open.slots[slot].id
	l.setPeer(i, int32(id))
	if l.retags == nil {
		l.retags = make(map[AllocationID][]int32)
	}
	l.retags[id] = append(l.retags[id], i)
}

// Retagged returns the allocation that the retag at event i is about, and
// whether there is one.
func (l *Lifetimes) Retagged(i int) (AllocationID, bool) {
	peer := l.peer[i>>chunkShift][i&chunkMask]
	return AllocationID(peer), peer != nothing
}

// NoteAt returns what is known of an allocation right after event at.
func (l *Lifetimes) NoteAt(id AllocationID, at int) NoteID {
	if len(l.retags) > 0 {
		retags := l.retags[id]
		if n := sort.Search(len(retags), func(k int) bool { return int(retags[k]) > at }); n > 0 {
			return l.events.At(int(retags[n-1])).Note
		}
	}
	if k, held := id.Held(); held {
		return l.Held[k].Note
	}
	return l.events.At(int(id)).Note
}

// AllocationAt returns the allocation with that id as it was known right after
// event at.
func (l *Lifetimes) AllocationAt(id AllocationID, at int) Allocation {
	a := l.Allocation(id)
	if len(l.retags) > 0 {
		a.Note = l.NoteAt(id, at)
	}
	return a
}

// lostAt notes that the program can reach the allocation at an address no more.
func (l *Lifetimes) lostAt(i int32, e *Event) {
	l.setPeer(i, nothing)
	slot, ok := l.open.find(e.Addr)
	if !ok {
		return
	}
	id := l.open.slots[slot].id
	l.setPeer(i, int32(id))
	if l.lost == nil {
		l.lost = make(map[AllocationID]int32)
	}
	if _, again := l.lost[id]; !again {
		l.lost[id] = i
	}
}

// Lost returns the event from which on the program can reach the allocation no
// more, or Never.
func (l *Lifetimes) Lost(id AllocationID) int {
	if i, ok := l.lost[id]; ok {
		return int(i)
	}
	return Never
}
