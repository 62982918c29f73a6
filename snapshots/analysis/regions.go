package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// region is reserved memory that a reader sees as one: a segment from
// segment_alloc to segment_free, or all memory that was ever mapped to one
// expandable segment.
type region struct {
	addr       uint64
	stack      trace.StackID
	expandable bool
	initial    int64 // bytes before the first event
	bytes      int64
	area       int64 // bytes times segment events, to rank by
	since      int   // when bytes last changed
}

// regionWalk assigns every segment event to a region.
type regionWalk struct {
	regions []region
	of      []int32          // by segment event, −1 for none
	open    map[uint64]int32 // not expandable, by address
	spans   []mappedSpan     // expandable, by address
}

// mappedSpan is a stretch of addresses that was mapped at some time.
type mappedSpan struct {
	from, to uint64
	region   int32
}

func (x *Index) walkRegions() *regionWalk {
	base := x.segmentHistory().At(-1)
	w := &regionWalk{of: make([]int32, len(x.segmentEvents)), open: make(map[uint64]int32)}
	w.findSpans(x, base)
	for i := range base {
		s := &base[i]
		id := w.regionFor(s.Addr, s.Stack, s.Expandable)
		w.regions[id].initial += s.Size
		w.regions[id].bytes += s.Size
	}
	for k, i := range x.segmentEvents {
		w.of[k] = w.step(k, x.events.At(int(i)))
	}
	for id := range w.regions {
		w.change(int32(id), len(x.segmentEvents), 0)
	}
	return w
}

// step applies a segment event and returns its region.
func (w *regionWalk) step(k int, e *trace.Event) int32 {
	if e.Kind == trace.SegmentFree {
		id, ok := w.open[e.Addr]
		if !ok {
			return -1
		}
		delete(w.open, e.Addr)
		w.change(id, k, -w.regions[id].bytes)
		return id
	}
	id := w.regionFor(e.Addr, e.Stack, mapped(e))
	w.change(id, k, e.ReservedDelta())
	return id
}

func (w *regionWalk) change(id int32, k int, delta int64) {
	g := &w.regions[id]
	g.area += g.bytes * int64(k-g.since)
	g.bytes += delta
	g.since = k
}

// mapped reports whether an event is about a part of an expandable segment.
func mapped(e *trace.Event) bool { return e.Kind == trace.SegmentMap || e.Kind == trace.SegmentUnmap }

// regionFor returns the region of memory that is being obtained.
func (w *regionWalk) regionFor(addr uint64, stack trace.StackID, expandable bool) int32 {
	if !expandable {
		id := w.add(region{addr: addr, stack: stack})
		w.open[addr] = id
		return id
	}
	at, ok := slices.BinarySearchFunc(w.spans, addr, func(s mappedSpan, addr uint64) int { return cmp.Compare(s.from, addr) })
	if !ok {
		at--
	}
	s := &w.spans[at]
	if s.region < 0 {
		s.region = w.add(region{addr: s.from, stack: stack, expandable: true})
	}
	return s.region
}

func (w *regionWalk) add(g region) int32 {
	w.regions = append(w.regions, g)
	return int32(len(w.regions) - 1)
}

// findSpans joins ranges that were ever mapped and touch each other.
func (w *regionWalk) findSpans(x *Index, base []trace.Segment) {
	var spans []mappedSpan
	for i := range base {
		if s := &base[i]; s.Expandable {
			spans = append(spans, mappedSpan{s.Addr, s.End(), -1})
		}
	}
	for _, i := range x.segmentEvents {
		if e := x.events.At(int(i)); mapped(e) {
			spans = append(spans, mappedSpan{e.Addr, e.Addr + uint64(e.Size), -1})
		}
	}
	slices.SortFunc(spans, func(a, b mappedSpan) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		if n := len(w.spans); n > 0 && s.from <= w.spans[n-1].to {
			w.spans[n-1].to = max(w.spans[n-1].to, s.to)
			continue
		}
		w.spans = append(w.spans, s)
	}
}
