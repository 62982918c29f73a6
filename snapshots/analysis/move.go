package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// moveReach is over how many events a map is moved at most. Over more events,
// most of the map may have changed, so it is inferred as a whole.
const moveReach = 4096

// mover makes a map from the map of a near moment. The blocks of a segment depend
// on its range, on its live allocations, and on which of those the program asked
// to free. All of these change only by events about addresses in the segment. So
// the mover copies the segments without such an event, and infers the others like
// those of a whole map.
type mover struct {
	mapper  *mapper
	from    *Map
	at      int
	touched []uint64             // what the events are about, by address
	ids     []trace.AllocationID // what may be alive in segments that are made anew
	resized bool                 // some events are about segments
}

// moveMap returns the map right after event at, or nil if moving the map from is
// not possible or not worth it.
func (x *mapper) moveMap(from *Map, at int) *Map {
	switch {
	case from == nil || from.segments == nil || from.OutsideCount > 0 || at == x.End():
		return nil
	case from.At == at:
		return from
	case max(from.At-at, at-from.At) > moveReach:
		return nil
	}
	m := &mover{mapper: x, from: from, at: at}
	m.readEvents()
	segments := from.segments
	if m.resized {
		segments = x.segmentHistory().At(at)
	}
	return m.move(segments)
}

// readEvents notes the addresses and allocations of the events between the two
// moments. It includes the event of the earlier moment, because a free_requested
// shows in the map right after it.
func (m *mover) readEvents() {
	x := m.mapper
	for i := max(0, min(m.from.At, m.at)); i <= max(m.from.At, m.at); i++ {
		e := x.events.At(i)
		leaves, joins := x.life.Change(i, e.Kind)
		m.note(leaves)
		m.note(joins)
		m.resized = m.resized || e.Kind.Segment()
		if leaves != joins || e.Kind.Segment() || e.Kind == trace.FreeRequested {
			m.touched = append(m.touched, e.Addr)
		}
	}
	slices.Sort(m.touched)
}

// note adds an allocation, if id is one, to those that may be alive.
func (m *mover) note(id trace.AllocationID) {
	if id != trace.NoAllocation {
		m.ids = append(m.ids, id)
	}
}

func (m *mover) move(segments []trace.Segment) *Map {
	out := &Map{At: m.at, segments: segments, Segments: make([]MapSegment, len(segments))}
	anew := m.keep(out)
	f := m.mapper.newInferrer(out, m.alive(), len(anew))
	for _, k := range anew {
		out.Segments[k] = f.place(&segments[k])
		out.Segments[k].measure()
	}
	f.skipTo(^uint64(0))
	out.addUp()
	return out
}

// keep copies the unchanged segments to out, notes the allocations that live in
// the other segments of from, and returns the segments of out that must be made
// anew.
func (m *mover) keep(out *Map) (anew []int) {
	from, old := m.from, 0
	for k := range out.segments {
		s := &out.segments[k]
		for old < len(from.segments) && from.segments[old].Addr < s.Addr {
			m.open(&from.Segments[old])
			old++
		}
		touched := m.touches(s)
		if old < len(from.segments) && !touched && sameSegment(&from.segments[old], s) {
			out.Segments[k] = from.Segments[old]
			old++
			continue
		}
		anew = append(anew, k)
	}
	for ; old < len(from.segments); old++ {
		m.open(&from.Segments[old])
	}
	return anew
}

// sameSegment reports whether two segments without blocks are the same.
func sameSegment(a, b *trace.Segment) bool {
	return a.Addr == b.Addr && a.Size == b.Size && a.Stream == b.Stream && a.Pool == b.Pool && a.Type == b.Type &&
		a.Stack == b.Stack && a.Expandable == b.Expandable
}

// touches reports whether an event is about an address in the segment. The caller
// must ask for segments in order of address.
func (m *mover) touches(s *trace.Segment) bool {
	for len(m.touched) > 0 && m.touched[0] < s.Addr {
		m.touched = m.touched[1:]
	}
	return len(m.touched) > 0 && m.touched[0] < s.End()
}

func (m *mover) open(s *MapSegment) {
	for i := range s.Blocks {
		if b := &s.Blocks[i]; b.Known {
			m.ids = append(m.ids, b.Allocation)
		}
	}
}

// alive returns the noted allocations that are alive, by address.
func (m *mover) alive() []trace.Allocation {
	slices.SortFunc(m.ids, func(a, b trace.AllocationID) int { return cmp.Compare(age(a), age(b)) })
	var alive []trace.Allocation
	for _, id := range slices.Compact(m.ids) {
		if a := m.mapper.life.AllocationAt(id, m.at); a.Open <= m.at && m.at < a.Close {
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
