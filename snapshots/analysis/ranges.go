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

func (e extent) address() uint64 { return e.addr }

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
	return x.kept.ranges.get(x, func(r *ranges) *ranges {
		if r != nil && len(r.events) == len(x.segmentEvents) {
			return r // the final segments are still the same
		}
		return x.replayRanges()
	})
}

func (x *Index) replayRanges() *ranges {
	r := &ranges{events: x.segmentEvents, made: make([]extent, len(x.segmentEvents))}
	now := runsOf(x.extentsOf(&x.device.Final))
	for k := len(r.events) - 1; k >= 0; k-- {
		r.undo(now, k, x.extentOf(int(r.events[k])), x.events.At(int(r.events[k])).Kind)
	}
	if x.device.Base != nil {
		now = runsOf(x.extentsOf(x.device.Base))
	}
	last := rangeMark{0, now.flat()}
	r.marks = append(r.marks, last)
	for k := range r.events {
		r.redo(now, k, x.extentOf(int(r.events[k])), x.events.At(int(r.events[k])).Kind)
		if k+1-last.k >= max(64, len(last.extents)) {
			last = rangeMark{k + 1, now.flat()}
			r.marks = append(r.marks, last)
		}
	}
	return r
}

func (x *Index) extentsOf(state *trace.State) []extent {
	extents := make([]extent, len(state.Segments))
	for i := range extents {
		s := &state.Segments[i]
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
	now := runsOf(mark.extents)
	scratch := ranges{made: r.made} // counts its own faults: others may be reading r
	for k := mark.k; k < done; k++ {
		i := int(r.events[k])
		scratch.redo(now, k, x.extentOf(i), x.events.At(i).Kind)
	}
	return now.flat()
}

// undo takes segment event k back and keeps in made what the range was.
func (r *ranges) undo(now *runs[extent], k int, e extent, kind trace.Kind) {
	r.made[k] = e
	switch kind {
	case trace.SegmentAlloc:
		p, ok := now.find(e.addr)
		if !ok {
			r.faults++
			return
		}
		r.made[k] = *now.at(p)
		now.delete(p)
	case trace.SegmentMap:
		r.made[k] = r.cut(now, e)
	default:
		join(now, e)
	}
}

// redo applies segment event k.
func (r *ranges) redo(now *runs[extent], k int, e extent, kind trace.Kind) {
	switch kind {
	case trace.SegmentAlloc, trace.SegmentMap:
		known := r.made[k]
		known.addr, known.size = e.addr, e.size
		join(now, known)
	case trace.SegmentFree:
		p, ok := now.find(e.addr)
		if !ok {
			r.faults++
			return
		}
		now.delete(p)
	default:
		r.cut(now, e)
	}
}

// join adds an extent. An expandable one grows together with its neighbours of
// the same stream and pool.
func join(now *runs[extent], e extent) {
	p, _ := now.find(e.addr)
	next := now.at(p)
	previous, _ := now.before(p)
	switch {
	case next != nil && e.continues(next):
		next.addr, next.size = e.addr, e.size+next.size
		if previous != nil && previous.continues(next) {
			previous.size += next.size
			p, _ = now.find(e.addr)
			now.delete(p)
		}
	case previous != nil && previous.continues(&e):
		previous.size += e.size
	default:
		now.insert(p, e)
	}
}

// continues reports whether b is the rest of the same expandable segment.
func (e *extent) continues(b *extent) bool {
	return e.expandable && b.expandable && e.end() == b.addr && e.stream == b.stream &&
		(e.pool == b.pool || e.pool == 0 || b.pool == 0)
}

// cut takes a range out of the extent that holds it, which may leave two.
// It returns what that extent was.
func (r *ranges) cut(now *runs[extent], hole extent) extent {
	p, ok := now.find(hole.addr)
	around := now.at(p)
	if !ok {
		around, p = now.before(p)
	}
	if around == nil || around.end() < hole.end() || around.addr > hole.addr {
		r.faults++
		return hole
	}
	whole := *around
	tail := whole
	tail.addr, tail.size = hole.end(), int64(whole.end()-hole.end())
	around.size = int64(hole.addr - whole.addr)
	switch {
	case around.size > 0 && tail.size > 0:
		at, _ := now.find(tail.addr)
		now.insert(at, tail)
	case around.size == 0 && tail.size > 0:
		*around = tail
	case around.size == 0:
		now.delete(p)
	}
	return whole
}
