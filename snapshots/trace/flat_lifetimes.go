package trace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
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
// array. They are not to be used before [Lifetimes.CheckHeld], [Lifetimes.CheckMarks]
// and, for each chunk of the events, [Lifetimes.CheckChunk] say that they fit; these may be
// called side by side. They cannot be advanced.
func LifetimesOf(events Events, f FlatLifetimes, peers []int32) (*Lifetimes, error) {
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
	return l, cmp.Or(l.takeMarks(f), l.takePairs(f))
}

// CheckHeld reports whether what the held allocations say of tables and events is so.
func (l *Lifetimes) CheckHeld(t *Tables) error {
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
		l.marks = append(l.marks, mark{at, f.MarkAlive[from:to:to]})
		from, before = to, at
	}
	return nil
}

// CheckMarks reports whether what is alive at marks was made before them.
func (l *Lifetimes) CheckMarks() error {
	for k := range l.marks {
		m, last := &l.marks[k], AllocationID(-1)
		for _, id := range m.alive {
			if id <= last || int(id) >= m.at {
				return fmt.Errorf("mark %d has allocation %d after %d", k, id, last)
			}
			last = id
		}
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

// CheckChunk reports whether all that chunk k of the events, a span of 16,384, refers to
// is in the tables, and whether what it says of its allocations and their ends agrees with
// what those say. The peers are those that the lifetimes were made of.
func (l *Lifetimes) CheckChunk(k int, t *Tables, peers []int32) error {
	var stack StackID
	var note NoteID
	var stream StreamID
	var kind Kind
	events := l.events.chunks[k]
	own := peers[k<<chunkShift:][:len(events)]
	for j := range events {
		e, i := &events[j], int32(k<<chunkShift+j)
		stack, note, stream, kind = max(stack, e.Stack), max(note, e.Note), max(stream, e.Stream), max(kind, e.Kind)
		if peer := own[j]; !paired(peers, i, peer, e.Kind) && !l.agrees(i, peer, e.Kind) {
			return fmt.Errorf("event %d, %s, does not agree with allocation or event %d", i, e.Kind, peer)
		}
	}
	if int(stack) >= t.StackCount() || int(note) >= len(t.Notes) || int(stream) >= len(t.Streams) || int(kind) >= KindCount {
		return errors.New("an event has a number that is not there")
	}
	return nil
}

// paired reports whether an event and its peer are as nearly all are: an allocation and
// its end that name each other, or one that is about no allocation. It decides without
// branches, because a processor cannot guess of what kind the next event is.
func paired(peers []int32, i, peer int32, kind Kind) bool {
	if uint32(peer) >= uint32(len(peers)) {
		return false
	}
	d := directions[kind]
	about := -(d * d)                            // all bits, or none for what is about no allocation
	apart := peers[peer] ^ i | ^((i-peer)*d)>>31 // 0 if they name each other in the right order
	return i > 0 && apart&about|peer&^about == 0
}

// directions says by kind whether its peer is an event that comes after it, 1, before
// it, −1, or none, 0.
var directions = func() (d [math.MaxUint8 + 1]int32) {
	d[Alloc], d[Free], d[FreeCompleted] = 1, -1, -1
	return d
}()

// agrees reports whether an event and its peer are as they may be.
func (l *Lifetimes) agrees(i, peer int32, kind Kind) bool {
	id := AllocationID(peer)
	switch {
	case kind == Alloc:
		return peer == Never || peer > i && int(peer) < l.events.Len() && l.ends(int(peer), AllocationID(i))
	case kind.Closes():
		return int32(id) < i && l.known(id) && l.closeOf(id) == int(i)
	case kind == Retag, kind == Lost:
		return peer == nothing || l.known(id) && peer < i
	default:
		return peer == 0
	}
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
