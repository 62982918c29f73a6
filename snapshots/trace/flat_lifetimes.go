package trace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// FlatLifetimes are [Lifetimes] as arrays. They are about the events they were made of.
type FlatLifetimes struct {
	Held      []Held
	Peers     [][]int32 // by event, cut into pieces; taken back as one
	MarkAt    []int32
	MarkEnds  []uint32 // entry k of the marks has what lies between end k−1 and end k of MarkAlive
	MarkAlive []AllocationID
	// Pairs of numbers; Retags are by allocation and then by event.
	AskedAddr                        []uint64
	AskedEvent                       []int32
	Pending, Retags, Displaced, Lost []Pair
	Request                          int32
	Begun                            bool
}

// Pair is an allocation and an event that is about it.
type Pair struct {
	ID    AllocationID
	Event int32
}

// Flat returns the lifetimes as arrays, which must not be changed.
func (l *Lifetimes) Flat() FlatLifetimes {
	f := FlatLifetimes{Held: l.Held, Request: l.request, Begun: l.begun}
	for left, k := l.events.Len(), 0; left > 0; k++ {
		f.Peers = append(f.Peers, l.peer[k][:min(left, chunkSize)])
		left -= chunkSize
	}
	for _, m := range l.marks {
		f.MarkAt = append(f.MarkAt, int32(m.at))
		f.MarkAlive = append(f.MarkAlive, m.alive...)
		f.MarkEnds = append(f.MarkEnds, uint32(len(f.MarkAlive)))
	}
	for _, addr := range slices.Sorted(maps.Keys(l.asked)) {
		f.AskedAddr, f.AskedEvent = append(f.AskedAddr, addr), append(f.AskedEvent, l.asked[addr])
	}
	f.Pending, f.Lost = pairs(l.pending), pairs(l.lost)
	for _, id := range slices.Sorted(maps.Keys(l.retags)) {
		for _, event := range l.retags[id] {
			f.Retags = append(f.Retags, Pair{id, event})
		}
	}
	for _, event := range slices.Sorted(maps.Keys(l.displaced)) {
		f.Displaced = append(f.Displaced, Pair{l.displaced[event], event})
	}
	return f
}

func pairs(of map[AllocationID]int32) []Pair {
	all := make([]Pair, 0, len(of))
	for _, id := range slices.Sorted(maps.Keys(of)) {
		all = append(all, Pair{id, of[id]})
	}
	return all
}

// LifetimesOf returns the lifetimes of events, of which peers are those of f as one
// array. What they say of the events is checked as far as [Lifetimes.CheckPeers] does not.
// They cannot be advanced.
func LifetimesOf(events Events, t *Tables, f FlatLifetimes, peers []int32) (*Lifetimes, error) {
	if len(peers) != events.Len() {
		return nil, errors.New("not a peer for each event")
	}
	l := NewLifetimes()
	l.Held, l.events, l.request, l.begun = f.Held, events, f.Request, f.Begun
	for ; len(peers) > 0; peers = peers[min(chunkSize, len(peers)):] {
		l.peer = append(l.peer, peers[:min(chunkSize, len(peers))])
	}
	if int(l.request) >= events.Len() || l.request < -1 {
		return nil, errors.New("a request that is not there")
	}
	return l, cmp.Or(l.takeMarks(f), l.takePairs(f), l.checkHeld(t))
}

func (l *Lifetimes) checkHeld(t *Tables) error {
	for k := range l.Held {
		h := &l.Held[k]
		if int(h.Stack) >= t.StackCount() || int(h.Note) >= len(t.Notes) || int(h.Stream) >= len(t.Streams) ||
			h.Close < 0 || h.Close != Never && int(h.Close) >= l.events.Len() {
			return fmt.Errorf("held allocation %d has a number that is not there", k)
		}
		if ended := h.Close != Never; h.FreeStack && !ended || ended && !l.ends(int(h.Close), HeldID(k)) {
			return fmt.Errorf("held allocation %d does not end at event %d", k, h.Close)
		}
	}
	return nil
}

func (l *Lifetimes) takeMarks(f FlatLifetimes) error {
	if len(f.MarkAt) != len(f.MarkEnds) {
		return errors.New("not an end for each mark")
	}
	var from uint32
	before := -1
	for k, to := range f.MarkEnds {
		at := int(f.MarkAt[k])
		if to < from || int64(to) > int64(len(f.MarkAlive)) || at <= before || at >= l.events.Len() {
			return fmt.Errorf("mark %d is out of order", k)
		}
		alive := f.MarkAlive[from:to:to]
		last := AllocationID(-1)
		for _, id := range alive {
			if id <= last || int(id) >= at {
				return fmt.Errorf("mark %d has allocation %d after %d", k, id, last)
			}
			last = id
		}
		l.marks = append(l.marks, mark{at, alive})
		from, before = to, at
	}
	return nil
}

func (l *Lifetimes) takePairs(f FlatLifetimes) error {
	if len(f.AskedAddr) != len(f.AskedEvent) {
		return errors.New("not an event for each request")
	}
	for k, event := range f.AskedEvent {
		if event < 0 || int(event) >= l.events.Len() {
			return errors.New("a request that is not there")
		}
		l.asked[f.AskedAddr[k]] = event
	}
	for _, list := range [][]Pair{f.Pending, f.Retags, f.Displaced, f.Lost} {
		for _, p := range list {
			if !l.known(p.ID) || p.Event < 0 || int(p.Event) >= l.events.Len() {
				return errors.New("a pair of what is not there")
			}
		}
	}
	for _, p := range f.Pending {
		l.pending[p.ID] = p.Event
	}
	if len(f.Lost) > 0 {
		l.lost = make(map[AllocationID]int32, len(f.Lost))
	}
	for _, p := range f.Lost {
		l.lost[p.ID] = p.Event
	}
	if len(f.Displaced) > 0 {
		l.displaced = make(map[int32]AllocationID, len(f.Displaced))
	}
	for _, p := range f.Displaced {
		l.displaced[p.Event] = p.ID
	}
	if len(f.Retags) > 0 {
		l.retags = make(map[AllocationID][]int32)
	}
	for _, p := range f.Retags {
		l.retags[p.ID] = append(l.retags[p.ID], p.Event)
	}
	return nil
}

// known reports whether there may be an allocation of that number.
func (l *Lifetimes) known(id AllocationID) bool {
	if k, held := id.Held(); held {
		return k < len(l.Held)
	}
	return int(id) < l.events.Len()
}

// CheckPeers reports whether what chunk k of the events, a span of 16,384, says of its
// allocations and their ends agrees with what those say. Chunks may be checked side by
// side.
func (l *Lifetimes) CheckPeers(k int) error {
	for j, peer := range l.peer[k] {
		i := k<<chunkShift + j
		e := &l.events.chunks[k][j]
		switch {
		case e.Kind == Alloc:
			if int(peer) <= i || peer != Never && (int(peer) >= l.events.Len() || !l.ends(int(peer), AllocationID(i))) {
				return fmt.Errorf("the allocation of event %d ends at %d", i, peer)
			}
		case e.Kind.Closes():
			id := AllocationID(peer)
			if int(id) >= i || !l.known(id) || l.closeOf(id) != i {
				return fmt.Errorf("event %d ends allocation %d", i, peer)
			}
		case e.Kind == Retag, e.Kind == Lost:
			if peer != Never && (!l.known(AllocationID(peer)) || int(peer) >= i) {
				return fmt.Errorf("event %d is about allocation %d", i, peer)
			}
		case peer != 0:
			return fmt.Errorf("event %d is about no allocation and says %d", i, peer)
		}
	}
	return nil
}

// ends reports whether event i ends the allocation: by closing it, or by taking its
// address.
func (l *Lifetimes) ends(i int, id AllocationID) bool {
	// Peers lie in a tenth of the bytes of events, and only those of what is about an
	// allocation are not 0.
	if l.Ended(i) == id && id != 0 {
		return true
	}
	if displaced, ok := l.Displaced(i); ok {
		return displaced == id
	}
	return l.Ended(i) == id && l.events.At(i).Kind.Closes()
}

func (l *Lifetimes) closeOf(id AllocationID) int {
	if k, held := id.Held(); held {
		return int(l.Held[k].Close)
	}
	return l.Closed(int(id))
}
