package trace

import "slices"

// mapping is the mapped memory of a device: its segments, found by their
// addresses. No two segments overlap. The code that plays events forward and the
// code that undoes them share this type.
type mapping struct {
	segments []stretch
	empty    []int32 // entries of segments that may be used again
	mapped   orderedIDs
	last     int32 // the segment that was looked for last, or none
}

// stretch is a segment. Its blocks are those of the last state, unless it has
// changed.
type stretch struct {
	Segment
	head    int32
	changed bool
}

func newMapping() mapping { return mapping{last: none} }

// segmentAt returns the segment that holds the address, or nil.
func (m *mapping) segmentAt(addr uint64) *stretch {
	if m.last != none {
		if s := &m.segments[m.last]; addr-s.Addr < uint64(s.Size) {
			return s
		}
	}
	id, ok := m.mapped.floor(addr)
	if !ok {
		return nil
	}
	s := &m.segments[id]
	if addr-s.Addr >= uint64(s.Size) {
		return nil
	}
	m.last = id
	return s
}

// addSegment adds a segment, whose chain begins with head.
func (m *mapping) addSegment(s Segment, head int32) {
	id := int32(len(m.segments))
	if n := len(m.empty); n > 0 {
		id, m.empty = m.empty[n-1], m.empty[:n-1]
		m.segments[id] = stretch{s, head, true}
	} else {
		m.segments = append(m.segments, stretch{s, head, true})
	}
	m.mapped.put(s.Addr, id)
}

func (m *mapping) removeSegment(addr uint64) {
	id, _ := m.mapped.remove(addr)
	m.segments[id] = stretch{}
	m.empty = append(m.empty, id)
	m.last = none
}

// overlaps reports whether any segment has a byte of the range.
func (m *mapping) overlaps(addr uint64, size int64) bool {
	id, ok := m.mapped.floor(addr + uint64(size) - 1)
	return ok && m.segments[id].End() > addr
}

// put adds a segment without its blocks, and reports whether its addresses were
// free.
func (m *mapping) put(s Segment) bool {
	if s.Size <= 0 || s.End() < s.Addr || m.overlaps(s.Addr, s.Size) {
		return false
	}
	s.Blocks, s.Allocated, s.Active, s.Requested = nil, 0, 0, 0
	m.addSegment(s, none)
	return true
}

// putAll adds each of the segments whose addresses are free.
func (m *mapping) putAll(segments []Segment) {
	m.segments = slices.Grow(m.segments, len(segments))
	for _, s := range segments {
		m.put(s)
	}
}

// pick removes the segment that begins at the address and returns it.
func (m *mapping) pick(addr uint64) (Segment, bool) {
	id, ok := m.mapped.get(addr)
	if !ok {
		return Segment{}, false
	}
	s := m.segments[id].Segment
	m.removeSegment(addr)
	return s, true
}

// grow adds a range and joins it with the expandable segments that it touches,
// because PyTorch reports a contiguous mapped range as one segment. The facts of
// the old segments stay, because the event of a range has fewer.
func (m *mapping) grow(s Segment) bool {
	if s.Size <= 0 || s.End() < s.Addr || m.overlaps(s.Addr, s.Size) {
		return false
	}
	if before := m.segmentAt(s.Addr - 1); before != nil && joins(&before.Segment, &s) {
		whole, _ := m.pick(before.Addr)
		whole.Size += s.Size
		s = whole
	}
	if after := m.segmentAt(s.End()); after != nil && joins(&after.Segment, &s) {
		addr, size := s.Addr, s.Size+after.Size
		if rest, _ := m.pick(after.Addr); s.Type == 0 {
			s = rest
		}
		s.Addr, s.Size = addr, size
	}
	return m.put(s)
}

// carve removes a range from the segment that holds it. A piece of the segment
// may stay on either side. carve returns the segment as it was.
func (m *mapping) carve(addr uint64, size int64) (Segment, bool) {
	s := m.segmentAt(addr)
	if size <= 0 || s == nil || s.End()-addr < uint64(size) {
		return Segment{}, false
	}
	whole, _ := m.pick(s.Addr)
	end := addr + uint64(size)
	if addr > whole.Addr {
		m.put(part(whole, whole.Addr, addr))
	}
	if end < whole.End() {
		m.put(part(whole, end, whole.End()))
	}
	return whole, true
}

// part returns the part of s between two addresses.
func part(s Segment, from, to uint64) Segment {
	s.Addr, s.Size = from, int64(to-from)
	return s
}

// joins reports whether two touching segments are one. A pool or type that is
// not known fits any.
func joins(a, b *Segment) bool {
	return a.Expandable && b.Expandable && a.Stream == b.Stream &&
		(a.Pool == b.Pool || a.Pool == 0 || b.Pool == 0) &&
		(a.Type == b.Type || a.Type == 0 || b.Type == 0)
}

// list returns the segments in order of address, without their blocks.
func (m *mapping) list() []Segment {
	list := make([]Segment, 0, m.mapped.count)
	m.mapped.from(0, func(_ uint64, id int32) bool {
		list = append(list, m.segments[id].Segment)
		return true
	})
	return list
}
