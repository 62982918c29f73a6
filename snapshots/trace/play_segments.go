package trace

import "cmp"

// newSegment returns the segment that an event brought.
func (r *rules) newSegment(m *memory, e *Event) Segment {
	facts := r.tables.factsOf(e, m.device)
	facts.Stack, facts.Pool = max(facts.Stack, EmptyStack), cmp.Or(facts.Pool, r.pool)
	facts.Type = r.names.of(e.Size)
	return Segment{Addr: e.Addr, Size: e.Size, Given: gaveSegment, SegmentFacts: facts}
}

// fresh returns why no new memory can come to the event's range, "" if it can.
func (r *rules) fresh(m *memory, e *Event) string {
	switch {
	case e.Size <= 0 || e.Addr+uint64(e.Size) < e.Addr:
		return noRange
	case m.overlaps(e.Addr, e.Size):
		return taken
	case r.linked >= r.most:
		return tooMany
	default:
		return ""
	}
}

// playSegment adds a segment that is one block.
func (r *rules) playSegment(m *memory, e *Event, whole Block) string {
	if reason := r.fresh(m, e); reason != "" {
		return reason
	}
	r.linked++
	m.addSegment(r.newSegment(m, e), m.add(whole, none, none))
	return ""
}

func (r *rules) playSegmentFree(m *memory, e *Event) string {
	id, ok := m.mapped.get(e.Addr)
	if !ok || m.segments[id].Expandable || m.segments[id].Size != e.Size {
		return noSegment
	}
	head := m.segments[id].head
	if l := &m.links[head]; l.next != none || l.State != Inactive {
		return inUse
	}
	r.linked--
	m.take(head)
	m.removeSegment(e.Addr)
	return ""
}

// playMap maps memory to a range and joins it with the segments that it touches.
func (r *rules) playMap(m *memory, e *Event) string {
	if reason := r.fresh(m, e); reason != "" {
		return reason
	}
	s := r.newSegment(m, e)
	before, after := m.neighbours(&s)
	prev, next := none, none
	head := none
	switch {
	case before != nil && before.End() == s.Addr:
		head, prev = before.head, m.tail(before)
		addr, size := before.Addr, before.Size+s.Size
		s = before.Segment
		s.Size = size
		m.removeSegment(addr)
	case before != nil:
		s.Stack = before.Stack // of the range of addresses that contains both
	case after != nil:
		s.Stack = after.Stack
	}
	if after != nil && after.Addr == e.Addr+uint64(e.Size) {
		next = after.head
		s.Size += after.Size
		m.removeSegment(after.Addr)
	}
	r.linked -= m.used()
	i := m.join(m.add(inactive(e.Addr, e.Size, 0), prev, next))
	r.linked += m.used()
	if head == none {
		head = i
	}
	m.addSegment(s, head)
	return ""
}

// neighbours returns the segments before and after s that may be of the same
// reserved range of addresses, or nil.
func (m *memory) neighbours(s *Segment) (before, after *stretch) {
	if id, ok := m.mapped.floor(s.Addr); ok && joins(&m.segments[id].Segment, s) {
		before = &m.segments[id]
	}
	m.mapped.from(s.Addr, func(_ uint64, id int32) bool {
		if joins(&m.segments[id].Segment, s) {
			after = &m.segments[id]
		}
		return false
	})
	return before, after
}

// tail returns the last block of a segment.
func (m *memory) tail(s *stretch) int32 {
	i := s.head
	for m.links[i].next != none {
		i = m.links[i].next
	}
	return i
}

// playUnmap removes the memory of a range inside a free block. A piece of the
// segment may stay on either side.
func (r *rules) playUnmap(m *memory, e *Event) string {
	s := m.segmentAt(e.Addr)
	if s == nil || !s.Expandable || e.Size <= 0 || uint64(e.Size) > s.End()-e.Addr {
		return noSegment
	}
	i := m.holder(s, e.Addr)
	b, end := m.links[i].Block, e.Addr+uint64(e.Size)
	blockEnd := b.Addr + uint64(b.Size)
	switch {
	case b.State != Inactive || end > blockEnd:
		return inUse
	case r.linked >= r.most:
		return tooMany
	}
	r.linked -= m.used()
	whole, head := s.Segment, s.head
	prev, next := m.links[i].prev, m.links[i].next
	m.take(i)
	m.removeSegment(whole.Addr)
	m.keepBefore(&whole, head, i, prev, e.Addr, b.Addr)
	m.keepAfter(&whole, next, end, blockEnd)
	r.linked += m.used()
	return ""
}

// keepBefore adds the part of a segment that is left before the address from. The
// block gone held that address and began at began.
func (m *memory) keepBefore(whole *Segment, head, gone, prev int32, from, began uint64) {
	if prev != none {
		m.links[prev].next = none
	}
	if from == whole.Addr {
		return
	}
	if head == gone {
		head = none
	}
	if began < from {
		if piece := m.add(inactive(began, int64(from-began), 0), prev, none); head == none {
			head = piece
		}
	}
	m.addSegment(part(*whole, whole.Addr, from), head)
}

// keepAfter adds the part of a segment that is left from the address to on. The
// block that held that address reached up to ended, and the block next follows
// it.
func (m *memory) keepAfter(whole *Segment, next int32, to, ended uint64) {
	if next != none {
		m.links[next].prev = none
	}
	if to == whole.End() {
		return
	}
	if to < ended {
		next = m.add(inactive(to, int64(ended-to), 0), none, next)
	}
	m.addSegment(part(*whole, to, whole.End()), next)
}
