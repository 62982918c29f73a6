package analysis

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// extent is a range of memory obtained from the driver.
type extent struct {
	addr       uint64
	size       int64
	stream     trace.StreamID
	stack      trace.StackID
	pool       trace.PoolID
	kind       string
	expandable bool
}

func (e *extent) end() uint64 { return e.addr + uint64(e.size) }

// ranges is the history of a device's segments. Events do not say a segment's
// pool or class, so undoing them from the final state keeps what that state
// knew of each, for the way forward.
type ranges struct {
	events []int32 // the segment events
	made   []extent
	marks  []rangeMark
	faults int // events that did not fit the state
}

// rangeMark is what was reserved before segment event k.
type rangeMark struct {
	k       int
	extents []extent
}

func (x *Index) ranges() *ranges {
	x.lazy.ranges.Do(func() { x.lazy.replay = x.replayRanges() })
	return x.lazy.replay
}

func (x *Index) replayRanges() *ranges {
	r := &ranges{events: x.segmentEvents, made: make([]extent, len(x.segmentEvents))}
	now := x.finalExtents()
	for k := len(r.events) - 1; k >= 0; k-- {
		now = r.undo(now, k, x.extentOf(int(r.events[k])), x.events.At(int(r.events[k])).Kind)
	}
	since := 0
	r.marks = append(r.marks, rangeMark{0, slices.Clone(now)})
	for k := range r.events {
		now = r.redo(now, k, x.extentOf(int(r.events[k])), x.events.At(int(r.events[k])).Kind)
		if since++; since >= max(64, len(now)) {
			since = 0
			r.marks = append(r.marks, rangeMark{k + 1, slices.Clone(now)})
		}
	}
	return r
}

func (x *Index) finalExtents() []extent {
	extents := make([]extent, len(x.device.Final.Segments))
	for i := range extents {
		s := &x.device.Final.Segments[i]
		extents[i] = extent{s.Addr, s.Size, s.Stream, s.Stack, s.Pool, x.tables.String(s.Type), s.Expandable}
	}
	return extents
}

// extentOf returns what a segment event says of its range.
func (x *Index) extentOf(i int) extent {
	e := x.events.At(i)
	return extent{
		addr: e.Addr, size: e.Size, stream: e.Stream, stack: e.Stack, pool: x.tables.Notes[e.Note].Pool,
		expandable: e.Kind == trace.SegmentMap || e.Kind == trace.SegmentUnmap,
	}
}

// at returns what is reserved right after an event.
func (r *ranges) at(x *Index, event int) []extent {
	done, _ := slices.BinarySearch(r.events, int32(event)+1) // segment events up to and with event
	m, _ := slices.BinarySearchFunc(r.marks, done+1, func(m rangeMark, k int) int { return cmp.Compare(m.k, k) })
	mark := &r.marks[m-1]
	now := slices.Clone(mark.extents)
	scratch := ranges{made: r.made}
	for k := mark.k; k < done; k++ {
		i := int(r.events[k])
		now = scratch.redo(now, k, x.extentOf(i), x.events.At(i).Kind)
	}
	return now
}

// undo takes segment event k back and keeps in made what the range was.
func (r *ranges) undo(now []extent, k int, e extent, kind trace.Kind) []extent {
	switch kind {
	case trace.SegmentAlloc:
		at, ok := find(now, e.addr)
		if !ok {
			r.faults++
			r.made[k] = e
			return now
		}
		r.made[k] = now[at]
		return slices.Delete(now, at, at+1)
	case trace.SegmentMap:
		now, r.made[k] = r.cut(now, e)
		return now
	default:
		r.made[k] = e
		return join(now, e)
	}
}

// redo applies segment event k.
func (r *ranges) redo(now []extent, k int, e extent, kind trace.Kind) []extent {
	switch kind {
	case trace.SegmentAlloc, trace.SegmentMap:
		known := r.made[k]
		known.addr, known.size = e.addr, e.size
		return join(now, known)
	case trace.SegmentFree:
		at, ok := find(now, e.addr)
		if !ok {
			r.faults++
			return now
		}
		return slices.Delete(now, at, at+1)
	default:
		now, _ = r.cut(now, e)
		return now
	}
}

// find returns the place of the extent that starts at addr, or where it would be.
func find(now []extent, addr uint64) (int, bool) {
	return slices.BinarySearchFunc(now, addr, func(e extent, addr uint64) int { return cmp.Compare(e.addr, addr) })
}

// join adds an extent. An expandable one grows together with its neighbours of
// the same stream and pool.
func join(now []extent, e extent) []extent {
	at, _ := find(now, e.addr)
	now = slices.Insert(now, at, e)
	if !e.expandable {
		return now
	}
	if at+1 < len(now) && now[at].continues(&now[at+1]) {
		next := now[at+1]
		next.addr, next.size = e.addr, e.size+next.size
		now[at] = next
		now = slices.Delete(now, at+1, at+2)
	}
	if at > 0 && now[at-1].continues(&now[at]) {
		now[at-1].size += now[at].size
		now = slices.Delete(now, at, at+1)
	}
	return now
}

// continues reports whether b is the rest of the same expandable segment.
func (e *extent) continues(b *extent) bool {
	return e.expandable && b.expandable && e.end() == b.addr && e.stream == b.stream &&
		(e.pool == b.pool || e.pool == 0 || b.pool == 0)
}

// cut takes a range out of the extent that holds it, which may leave two.
// It returns what that extent was.
func (r *ranges) cut(now []extent, hole extent) ([]extent, extent) {
	at, ok := find(now, hole.addr)
	if !ok {
		at--
	}
	if at < 0 || now[at].end() < hole.end() {
		r.faults++
		return now, hole
	}
	whole := now[at]
	tail := whole
	tail.addr, tail.size = hole.end(), int64(whole.end()-hole.end())
	head := whole
	head.size = int64(hole.addr - whole.addr)
	var left []extent
	for _, part := range []extent{head, tail} {
		if part.size > 0 {
			left = append(left, part)
		}
	}
	return slices.Replace(now, at, at+1, left...), whole
}
