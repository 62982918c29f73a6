package analysis

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// Rests
//
// When a request of the large class leaves at most 1 MiB of the free block that
// serves it, the allocator hands out the rest as well. How large that free block
// was follows from what lay behind it at that moment: the next live block, or
// the segment's end. So one walk over the events, keeping the addresses of what
// is live, gives the true size of every block that was allocated in the trace.
//
// Of a block from before only a bound is known: what lies behind it at the
// start. If that is more than 1 MiB, a free block is there, and the first
// allocation from its front shows where it began.

// rest is how much larger a block is than its rounded request.
type rest struct {
	id    trace.AllocationID
	bytes int32
}

// rests knows the blocks that are larger than their rounded request.
type rests struct {
	made []rest // allocated in the trace, by id
	held map[int]int32
}

// of returns by how much an allocation's block exceeds its rounded request.
func (r *rests) of(id trace.AllocationID) int64 {
	if k, held := id.Held(); held {
		return int64(r.held[k])
	}
	at, ok := slices.BinarySearchFunc(r.made, id, func(r rest, id trace.AllocationID) int { return cmp.Compare(r.id, id) })
	if !ok {
		return 0
	}
	return int64(r.made[at].bytes)
}

func (x *Index) rests() *rests {
	w := x.kept.rests.get(x, func(w *restWalk) *restWalk {
		if !w.continues(x) {
			w = x.newRestWalk()
		}
		w.advance(x)
		return w
	})
	return w.out
}

// restWalk is the walk described above.
type restWalk struct {
	index   *Index
	round   trace.Rounding
	live    fences
	extents []extent          // before the first event
	mapped  []mappedSpan      // where expandable segments are; they leave no rests
	open    map[uint64]opened // blocks from before whose rest is not known yet
	out     *rests
	ranges  *ranges
	heldN   int  // held ones that there were
	none    bool // the allocator leaves no rests
	n       int  // events read
}

// opened is a block from before with a free block somewhere behind it.
type opened struct {
	held int
	end  uint64 // of its rounded request
}

func (x *Index) newRestWalk() *restWalk {
	w := &restWalk{
		index: x, round: trace.NewRounding(x.trace.Settings), open: make(map[uint64]opened), out: &rests{held: make(map[int]int32)},
		heldN: len(x.life.Held), none: x.cutsEverything(),
	}
	if !w.none {
		w.ranges, w.extents, w.mapped = x.ranges(), x.ranges().marks[0].extents, x.mappedSpans()
		w.start()
	}
	return w
}

func (x *Index) mappedSpans() []mappedSpan {
	spans := &regionWalk{}
	spans.findSpans(x, x.ranges())
	return spans.spans
}

// continues reports whether the walk may go on: whether what it took for the
// start is still known to be so.
func (w *restWalk) continues(x *Index) bool {
	switch {
	case w == nil || w.heldN != len(x.life.Held):
		return false
	case w.none || w.ranges == x.ranges():
		return true
	}
	w.ranges = x.ranges()
	return slices.EqualFunc(w.extents, w.ranges.marks[0].extents, sameSpan) && slices.Equal(w.mapped, x.mappedSpans())
}

func sameSpan(a, b extent) bool {
	return a.addr == b.addr && a.size == b.size && a.expandable == b.expandable
}

// advance walks over the events that came since.
func (w *restWalk) advance(x *Index) {
	if w.none {
		return
	}
	for w.n < x.events.Len() {
		span := x.events.Span(w.n)
		for j := range span {
			w.step(w.n+j, &span[j])
		}
		w.n += len(span)
	}
}

// cutsEverything reports whether the allocator was set to cut off every rest.
func (x *Index) cutsEverything() bool {
	for _, s := range x.trace.Settings {
		if on, ok := s.Value.(bool); ok && on && s.Key == "expandable_segments" {
			return true
		}
	}
	return false
}

// start puts in what was there before the first event.
func (w *restWalk) start() {
	x := w.index
	for _, e := range x.ranges().marks[0].extents {
		if !e.expandable {
			w.live.add(e.end(), false)
		}
	}
	for k := range x.life.Held {
		if h := &x.life.Held[k]; w.large(h.Size) {
			w.live.add(h.Addr, true)
		}
	}
	for k := range x.life.Held {
		h := &x.life.Held[k]
		if !w.large(h.Size) || w.expandable(h.Addr) {
			continue
		}
		_, next := w.live.around(h.Addr)
		end := h.Addr + uint64(w.round.Round(h.Size))
		switch room := int64(next - end); {
		case next <= end:
		case w.keeps(end-h.Addr, room):
			w.out.held[k] = int32(room)
		default:
			w.open[h.Addr] = opened{k, end}
		}
	}
}

// large reports whether a request is of the large class.
func (w *restWalk) large(size int64) bool {
	return size > trace.SmallLimit-trace.MinBlock && w.round.Round(size) > trace.SmallLimit
}

// keeps reports whether a block of that size is handed out with its rest.
func (w *restWalk) keeps(size uint64, room int64) bool {
	return room <= trace.SmallLimit || w.round.MaxSplit > 0 && int64(size) >= w.round.MaxSplit && room <= 1<<31-1
}

func (w *restWalk) expandable(addr uint64) bool {
	if len(w.mapped) == 0 {
		return false
	}
	at, ok := slices.BinarySearchFunc(w.mapped, addr, func(s mappedSpan, addr uint64) int { return cmp.Compare(s.from, addr) })
	if !ok {
		at--
	}
	return at >= 0 && addr < w.mapped[at].to
}

func (w *restWalk) step(i int, e *trace.Event) {
	switch {
	case e.Kind == trace.Alloc:
		if w.large(e.Size) && !w.expandable(e.Addr) {
			w.alloc(i, e)
		}
	case e.Kind.Closes():
		if w.large(e.Size) {
			w.live.remove(e.Addr, true)
			if len(w.open) > 0 {
				delete(w.open, e.Addr)
			}
		}
	case e.Kind == trace.SegmentAlloc:
		w.live.add(e.Addr+uint64(e.Size), false)
	case e.Kind == trace.SegmentFree:
		w.live.remove(e.Addr+uint64(e.Size), false)
	}
}

func (w *restWalk) alloc(i int, e *trace.Event) {
	before, after := w.live.around(e.Addr)
	w.live.add(e.Addr, true)
	if held, ok := w.open[before]; ok && before != 0 {
		if room := int64(e.Addr - held.end); room >= 0 && room <= trace.SmallLimit {
			w.out.held[held.held] = int32(room)
		}
		delete(w.open, before)
	}
	size := uint64(w.round.Round(e.Size))
	if room := int64(after - (e.Addr + size)); after > e.Addr+size && w.keeps(size, room) {
		w.out.made = append(w.out.made, rest{trace.AllocationID(i), int32(room)})
	}
}
