package analysis

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// moveReach is over how many events a map is moved. Beyond, most of it may have
// changed, and it is inferred as a whole.
const moveReach = 4096

// mover makes a map from that of a moment nearby. How a segment looks depends on
// its extent, on what is alive in it, and on which of that was asked to be
// freed, all of which change only by events about addresses in it. So segments
// without such an event are taken over, and the others are inferred like those
// of a whole map.
type mover struct {
	index   *Index
	from    *Map
	at      int
	touched []uint64             // what the events are about, by address
	ids     []trace.AllocationID // what may be alive in segments that are made anew
	resized bool                 // some events are about segments
}

// moveMap returns the map right after event at, or nil where moving from is
// not possible or not worth it.
func (x *Index) moveMap(from *Map, at int) *Map {
	switch {
	case from == nil || from.extents == nil || from.OutsideCount > 0 || at == x.End():
		return nil
	case from.At == at:
		return from
	case max(from.At-at, at-from.At) > moveReach:
		return nil
	}
	m := &mover{index: x, from: from, at: at}
	m.readEvents()
	extents := from.extents
	if m.resized {
		extents = x.ranges().at(x, at)
	}
	// Where extents overlap, and they do in no memory, what lies in one
	// depends on the others.
	if overlap(from.extents) || overlap(extents) {
		return nil
	}
	return m.move(extents)
}

// readEvents notes what the events between the two moments are about, that of
// the earlier moment included: a free_requested shows in the map right after
// it.
func (m *mover) readEvents() {
	x := m.index
	for i := max(0, min(m.from.At, m.at)); i <= max(m.from.At, m.at); i++ {
		e := x.events.At(i)
		switch {
		case e.Kind == trace.Alloc:
			m.ids = append(m.ids, trace.AllocationID(i))
			if id, ok := x.life.Displaced(i); ok {
				m.ids = append(m.ids, id)
			}
		case e.Kind.Closes():
			m.ids = append(m.ids, x.life.Ended(i))
		case e.Kind.Segment():
			m.resized = true
		case e.Kind != trace.FreeRequested:
			continue
		}
		m.touched = append(m.touched, e.Addr)
	}
	slices.Sort(m.touched)
}

// overlap reports whether some of the extents, which are in order, do.
func overlap(extents []extent) bool {
	var end uint64
	for i := range extents {
		e := &extents[i]
		if e.addr < end || e.end() < e.addr {
			return true
		}
		end = e.end()
	}
	return false
}

func (m *mover) move(extents []extent) *Map {
	out := &Map{At: m.at, extents: extents, Segments: make([]MapSegment, len(extents))}
	anew := m.keep(out)
	f := m.index.newInferrer(out, m.alive(), len(anew))
	for _, k := range anew {
		out.Segments[k] = f.place(&extents[k])
		out.Segments[k].measure()
	}
	f.skipTo(^uint64(0))
	out.addUp()
	return out
}

// keep takes over the segments that are as they were, notes what lives in the
// others of from, and returns which of out's are to be made.
func (m *mover) keep(out *Map) (anew []int) {
	from, old := m.from, 0
	for k := range out.extents {
		e := &out.extents[k]
		for old < len(from.extents) && from.extents[old].addr < e.addr {
			m.open(&from.Segments[old])
			old++
		}
		touched := m.touches(e)
		if old < len(from.extents) && !touched && from.extents[old] == *e {
			out.Segments[k] = from.Segments[old]
			old++
			continue
		}
		anew = append(anew, k)
	}
	for ; old < len(from.extents); old++ {
		m.open(&from.Segments[old])
	}
	return anew
}

// touches reports whether an event is about an address in the extent. Extents
// must be asked for in order.
func (m *mover) touches(e *extent) bool {
	for len(m.touched) > 0 && m.touched[0] < e.addr {
		m.touched = m.touched[1:]
	}
	return len(m.touched) > 0 && m.touched[0] < e.end()
}

func (m *mover) open(s *MapSegment) {
	for i := range s.Blocks {
		if b := &s.Blocks[i]; b.Known {
			m.ids = append(m.ids, b.Allocation)
		}
	}
}

// alive returns what is alive of the noted ones, by address.
func (m *mover) alive() []trace.Allocation {
	slices.SortFunc(m.ids, func(a, b trace.AllocationID) int { return cmp.Compare(age(a), age(b)) })
	var alive []trace.Allocation
	for _, id := range slices.Compact(m.ids) {
		if a := m.index.life.AllocationAt(id, m.at); a.Open <= m.at && m.at < a.Close {
			alive = append(alive, a)
		}
	}
	return sorted(alive, byAddress)
}

// age is lower for older allocations, in the order of [trace.Lifetimes.Alive].
func age(id trace.AllocationID) int {
	if k, held := id.Held(); held {
		return k - trace.Never - 1
	}
	return int(id)
}
