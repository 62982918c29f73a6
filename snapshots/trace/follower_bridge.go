package trace

import "sort"

// # Bridging a gap
//
// If events are missing, the states before and after them are known. The follower
// makes up events that lead from one state to the other, with the time of the
// last event before the gap. They free the blocks that are no longer live, then
// remove segments, then add segments, then allocate the new blocks. A block that
// looks the same in both states is taken to be the same block.

// bridge appends the events that lead from the old memory to the device's.
func (f *Follower) bridge(d *followed, old *memory) {
	b := bridge{f: f, d: d}
	before, after := old.list(), d.memory.list()
	b.compare(before, after)
	b.blocks(old.live(), d.memory.live())
	for _, events := range [][]Event{b.frees, b.goes, b.comes, b.allocs} {
		for i := range events {
			f.append(d, &events[i])
		}
	}
}

// place plays a made-up event: it allocates anywhere in free memory. The block's
// size comes from the rules, because nothing says it better.
func (r *rules) place(m *memory, e *Event) string {
	if _, begins := m.find(e.Addr); e.Kind == Alloc && !begins {
		if s := m.segmentAt(e.Addr); s != nil {
			i := m.holder(s, e.Addr)
			if b := &m.links[i]; b.State == Inactive && r.linked < r.most {
				r.linked++
				m.cut(i, int64(e.Addr-b.Addr))
			}
		}
	}
	return r.play(m, e)
}

type bridge struct {
	f                          *Follower
	d                          *followed
	kept                       []span // mapped in both states, ascending
	frees, goes, comes, allocs []Event
}

// span is a range of mapped addresses.
type span struct {
	from, to   uint64
	expandable bool
}

// of makes an event about a block.
func (b *bridge) of(k Kind, t tenantOf) Event {
	return b.event(k, t.Addr, t.LiveRequested(), t.LiveStack(), t.Note, t.stream)
}

func (b *bridge) event(k Kind, addr uint64, size int64, stack StackID, note NoteID, stream StreamID) Event {
	e := Event{Kind: k, Addr: addr, Size: size, Time: b.d.time, Stack: stack, Note: note, Stream: stream}
	if e.Time == 0 {
		e.Absent = NoTime
	}
	return e
}

// compare finds the memory that is mapped in both states, and makes the events
// for all other memory.
func (b *bridge) compare(before, after []Segment) {
	for i, k := 0, 0; i < len(before) && k < len(after); {
		x, y := &before[i], &after[k]
		if from, to := max(x.Addr, y.Addr), min(x.End(), y.End()); from < to && (b.f.geometry.Uncached || sameMemory(x, y)) {
			b.kept = append(b.kept, span{from, to, x.Expandable})
		}
		if x.End() <= y.End() {
			i++
		} else {
			k++
		}
	}
	if b.f.geometry.Uncached {
		return // blocks bring their segments
	}
	for i := range before {
		b.goes = b.rest(b.goes, &before[i], SegmentFree, SegmentUnmap)
	}
	for i := range after {
		b.comes = b.rest(b.comes, &after[i], SegmentAlloc, SegmentMap)
	}
}

// sameMemory reports whether the addresses that two segments share may have been
// mapped all the time. A segment that is not expandable comes and goes as a
// whole.
func sameMemory(x, y *Segment) bool {
	if !x.Expandable && !y.Expandable {
		return x.Addr == y.Addr && x.Size == y.Size && x.Stream == y.Stream && x.Pool == y.Pool
	}
	return joins(x, y)
}

// rest appends events for the parts of s that are not in both states.
func (b *bridge) rest(events []Event, s *Segment, whole, part Kind) []Event {
	kind := whole
	if s.Expandable {
		kind = part
	}
	note := NoteID(0)
	if s.Pool != 0 && s.Pool != b.f.pool {
		note = b.f.in.Note(Note{Pool: s.Pool})
	}
	at := s.Addr
	add := func(to uint64) {
		if at < to {
			events = append(events, b.event(kind, at, int64(to-at), s.Stack, note, s.Stream))
		}
	}
	for i := b.search(s.Addr); i < len(b.kept) && b.kept[i].from < s.End(); i++ {
		add(b.kept[i].from)
		at = b.kept[i].to
	}
	add(s.End())
	return events
}

// search returns the first kept range that ends after the address.
func (b *bridge) search(addr uint64) int {
	return sort.Search(len(b.kept), func(i int) bool { return b.kept[i].to > addr })
}

// tenant is a live block and the stream of its segment.
type tenantOf struct {
	*Block
	stream StreamID
}

// live returns the live blocks in order of address.
func (m *memory) live() []tenantOf {
	list := make([]tenantOf, 0, m.used())
	m.mapped.from(0, func(_ uint64, id int32) bool {
		s := &m.segments[id]
		for i := s.head; i != none; i = m.links[i].next {
			if b := &m.links[i].Block; b.State.Live() {
				list = append(list, tenantOf{b, s.Stream})
			}
		}
		return true
	})
	return list
}

// blocks makes the events for blocks that are live in only one of the states.
func (b *bridge) blocks(before, after []tenantOf) {
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Addr < after[0].Addr:
			b.free(before[0])
			before = before[1:]
		case len(before) == 0 || after[0].Addr < before[0].Addr:
			b.alloc(after[0])
			after = after[1:]
		default:
			b.both(before[0], after[0])
			before, after = before[1:], after[1:]
		}
	}
}

func (b *bridge) free(t tenantOf) {
	if t.State == Allocated {
		b.frees = append(b.frees, b.of(FreeRequested, t))
	}
	b.frees = append(b.frees, b.of(FreeCompleted, t))
}

func (b *bridge) alloc(t tenantOf) {
	b.allocs = append(b.allocs, b.of(Alloc, t))
	if t.State == PendingFree {
		b.allocs = append(b.allocs, b.of(FreeRequested, t))
	}
}

// both compares the blocks that the two states have at one address.
func (b *bridge) both(x, y tenantOf) {
	i := b.search(x.Addr)
	stayed := i < len(b.kept) && b.kept[i].from <= x.Addr && x.stream == y.stream
	same := x.Size == y.Size && x.LiveRequested() == y.LiveRequested() && x.LiveStack() == y.LiveStack()
	if !stayed || !same || x.State == PendingFree && y.State == Allocated {
		b.free(x)
		b.alloc(y)
		return
	}
	if x.Note != y.Note {
		b.allocs = append(b.allocs, b.of(Retag, y))
	}
	if x.State == Allocated && y.State == PendingFree {
		b.allocs = append(b.allocs, b.of(FreeRequested, y))
	}
}
