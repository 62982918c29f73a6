package trace

import (
	"cmp"
	"slices"
)

// SegmentHistory has the segments of a device at any moment of its trace. The
// events do not have a segment's pool or class, but the final state does. So the
// history first undoes the events from the final state, keeps each segment's pool
// and class, and then replays the events forward with them. It is immutable, and
// any goroutine may read it.
type SegmentHistory struct {
	events  Events
	changes []int32       // the events that are about segments
	known   []Segment     // by change: the segment that it is about
	marks   []segmentMark // the first is before all changes
	faults  int
}

// segmentMark is a checkpoint: the segments after a number of changes.
type segmentMark struct {
	changes  int
	segments []Segment
}

// NewSegmentHistory replays the segment events of a device's trace. The argument
// changes has their numbers, ascending.
func NewSegmentHistory(t *Trace, d *Device, changes []int32) *SegmentHistory {
	h := &SegmentHistory{events: d.Events, changes: changes, known: make([]Segment, len(changes))}
	past := newSegmentRewinder(t, d)
	past.putAll(d.Final.Segments)
	for k := len(changes) - 1; k >= 0; k-- {
		var reason string
		if h.known[k], reason = past.undo(h.event(k)); reason != "" {
			h.faults++
			h.known[k] = past.restored(h.event(k))
		}
	}
	now := past.mapping
	if d.Base != nil {
		now = newMapping()
		now.putAll(d.Base.Segments)
	}
	h.marks = append(h.marks, segmentMark{0, now.list()})
	for k := range changes {
		if !h.redo(&now, k) {
			h.faults++
		}
		if last := &h.marks[len(h.marks)-1]; k+1-last.changes >= max(64, len(last.segments)) {
			h.marks = append(h.marks, segmentMark{k + 1, now.list()})
		}
	}
	return h
}

func (h *SegmentHistory) event(k int) *Event { return h.events.At(int(h.changes[k])) }

// redo applies change k, and reports whether it fits.
func (h *SegmentHistory) redo(now *mapping, k int) (ok bool) {
	switch e := h.event(k); e.Kind {
	case SegmentFree:
		_, ok = now.pick(e.Addr)
	case SegmentUnmap:
		_, ok = now.carve(e.Addr, e.Size)
	default:
		known := h.known[k]
		known.Addr, known.Size = e.Addr, e.Size
		ok = now.grow(known)
	}
	return ok
}

// At returns the segments right after an event, in order of address and without
// their blocks. It replays the changes from the nearest checkpoint.
func (h *SegmentHistory) At(event int) []Segment {
	done, _ := slices.BinarySearch(h.changes, int32(event)+1)
	m, _ := slices.BinarySearchFunc(h.marks, done+1, func(m segmentMark, k int) int { return cmp.Compare(m.changes, k) })
	mark := &h.marks[m-1]
	if mark.changes == done {
		return mark.segments
	}
	now := newMapping()
	now.putAll(mark.segments)
	for k := mark.changes; k < done; k++ {
		h.redo(&now, k)
	}
	return now.list()
}

// Changes returns the events that are about segments.
func (h *SegmentHistory) Changes() []int32 { return h.changes }

// Faults returns how many changes contradicted the segments when they were undone
// or done again. A whole trace that was not edited has none.
func (h *SegmentHistory) Faults() int { return h.faults }
