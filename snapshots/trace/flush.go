package trace

// Flush is segments that went back to the driver one after another.
//
// If the next event obtains a segment with the same stack, one request did both:
// the allocator gave back its cache because the driver had refused that segment.
// A program that empties its cache itself does so at a line of its own. Without
// stacks the two look alike, and the flush counts as the program's.
type Flush struct {
	Event    int // of the first segment
	Segments int
	Bytes    int64
	Stack    StackID
	// Refused is the reserved level that the driver refused, in bytes; 0 if it refused
	// nothing. The process got less than that then.
	Refused int64
	Time    int64 // microseconds until the segment was there; 0 if not known or not refused

	began int64
}

// Flushes gathers the flushes of a device from its events that change reserved
// memory, see [Kind.Segment].
type Flushes struct {
	All   []Flush
	level int64 // reserved, relative to the first event
	next  int
}

// NewFlushes begins at a level of reserved bytes.
func NewFlushes(reserved int64) *Flushes { return &Flushes{level: reserved, next: -1} }

// Add takes event i. It must come after the events before it.
func (f *Flushes) Add(i int, e *Event) {
	f.level += e.ReservedDelta()
	var last *Flush
	if i == f.next && f.All[len(f.All)-1].Stack == e.Stack {
		last = &f.All[len(f.All)-1]
	}
	gives := e.Kind == SegmentFree || e.Kind == SegmentUnmap
	switch {
	case gives && last != nil && last.Refused == 0:
		last.Segments++
		last.Bytes += e.Size
	case gives:
		f.All = append(f.All, Flush{Event: i, Segments: 1, Bytes: e.Size, Stack: e.Stack, began: e.Time})
	case last != nil && e.Stack > EmptyStack && (last.Refused == 0 || e.Kind == SegmentMap): // a request maps several times
		last.Refused, last.Time = f.level+last.Bytes, max(0, e.Time-last.began)
	default:
		return
	}
	f.next = i + 1
}

// Refused returns the least level above another that the driver refused, in bytes,
// and how often it refused any; 0 and 0 if it refused nothing. A level that the
// process once had was refused because others used the device.
func (f *Flushes) Refused(above int64) (level int64, times int) {
	for i := range f.All {
		if l := f.All[i].Refused; l > 0 {
			times++
			if l > above && (level == 0 || l < level) {
				level = l
			}
		}
	}
	return level, times
}
