package trace

import "fmt"

// segmentRewinder undoes what happened to a device's segments.
type segmentRewinder struct {
	mapping
	tables *Tables
	names  typeNames
	device int32
}

func newSegmentRewinder(t *Trace, d *Device) segmentRewinder {
	return segmentRewinder{mapping: newMapping(), tables: t.Tables, names: findTypeNames(t), device: int32(d.ID)}
}

// undo undoes a segment event. It returns the event's segment with all that is
// known of it, and the reason if the state contradicts the event, otherwise "".
func (r *segmentRewinder) undo(e *Event) (was Segment, reason string) {
	ok := true
	switch e.Kind {
	case SegmentAlloc:
		if was, ok = r.pick(e.Addr); ok && was.Size != e.Size {
			return was, fmt.Sprintf("which has %d afterwards", was.Size)
		}
		reason = "where there is no segment afterwards"
	case SegmentMap:
		was, ok = r.carve(e.Addr, e.Size)
		reason = "which are not all mapped afterwards"
	case SegmentFree, SegmentUnmap:
		was = r.restored(e)
		ok = r.grow(was)
		reason = "where there is a segment afterwards"
	default: // the rest changes no segment
	}
	if ok {
		reason = ""
	}
	return was, reason
}

// restored returns the segment that an event gave back to the driver.
func (r *segmentRewinder) restored(e *Event) Segment {
	s := Segment{
		Addr: e.Addr, Size: e.Size, Given: GaveAddr | GaveSize | GaveStream | GaveExpandable | GaveDevice,
		SegmentFacts: r.tables.factsOf(e, r.device),
	}
	if !s.Expandable {
		s.Type = r.names.of(e.Size)
	}
	return s
}
