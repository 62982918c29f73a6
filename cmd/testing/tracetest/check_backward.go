package tracetest

import (
	"slices"
	"sort"

	"github.com/memtop/memtop/snapshots/trace"
)

// span is a mapped range of addresses, which can grow and shrink when it is
// expandable.
type span struct {
	from, to   uint64
	expandable bool
}

// backward is the state of a backward replay: what is mapped, in ascending
// order, and which addresses hold a block, true when it is pending free.
type backward struct {
	mapped []span
	live   map[uint64]bool
}

// checkBackward undoes the events from the final state: nothing may be missing
// and no live block may be outside of a segment.
func (c *checker) checkBackward() {
	w := backward{live: make(map[uint64]bool)}
	for _, s := range c.device.Final.Segments {
		w.mapped = append(w.mapped, span{s.Addr, s.Addr + uint64(s.Size), s.Expandable})
		for _, b := range s.Blocks {
			if b.State == trace.Allocated || b.State == trace.PendingFree {
				w.live[b.Addr] = b.State == trace.PendingFree
			}
		}
	}
	sort.Slice(w.mapped, func(i, j int) bool { return w.mapped[i].from < w.mapped[j].from })
	for i := c.end - 1; i >= 0; i-- {
		e := c.device.Events.At(i)
		if reason := w.undo(e); reason != "" {
			c.report(i, "undoing %s at %#x: %s", e.Kind, e.Addr, reason)
		}
	}
	for addr := range w.live {
		if w.find(addr) < 0 {
			c.report(0, "the allocation at %#x is in no segment before the first event", addr)
		}
	}
}

func (w *backward) undo(e *trace.Event) string {
	pending, live := w.live[e.Addr]
	switch e.Kind {
	case trace.Alloc:
		delete(w.live, e.Addr)
		if !live {
			return "no block is there"
		}
		if w.find(e.Addr) < 0 {
			return "no segment is there"
		}
	case trace.FreeCompleted, trace.Free:
		w.live[e.Addr] = e.Kind == trace.FreeCompleted
		if live {
			return "a block is there already"
		}
		if w.find(e.Addr) < 0 {
			return "no segment is there"
		}
	case trace.FreeRequested:
		w.live[e.Addr] = false
		if !live || !pending {
			return "no block there is pending"
		}
	case trace.SegmentAlloc, trace.SegmentMap:
		return w.unmap(span{e.Addr, e.Addr + uint64(e.Size), e.Kind == trace.SegmentMap})
	case trace.SegmentFree, trace.SegmentUnmap:
		return w.remap(span{e.Addr, e.Addr + uint64(e.Size), e.Kind == trace.SegmentUnmap})
	default:
	}
	return ""
}

// find returns the index of the mapped range that holds addr, or −1.
func (w *backward) find(addr uint64) int {
	for low, high := 0, len(w.mapped); low < high; {
		middle := (low + high) / 2
		switch r := w.mapped[middle]; {
		case addr < r.from:
			high = middle
		case addr >= r.to:
			low = middle + 1
		default:
			return middle
		}
	}
	return -1
}

func (w *backward) unmap(gone span) string {
	i := w.find(gone.from)
	if i < 0 || gone.to <= gone.from || gone.to > w.mapped[i].to {
		return "not all of it is mapped"
	}
	old := w.mapped[i]
	if !gone.expandable && old != gone {
		return "the segment is another one"
	}
	w.mapped = slices.Delete(w.mapped, i, i+1)
	if gone.to < old.to {
		w.mapped = slices.Insert(w.mapped, i, span{gone.to, old.to, true})
	}
	if old.from < gone.from {
		w.mapped = slices.Insert(w.mapped, i, span{old.from, gone.from, true})
	}
	for addr := range w.live {
		if addr >= gone.from && addr < gone.to {
			return "live blocks are in it"
		}
	}
	return ""
}

func (w *backward) remap(back span) string {
	i := sort.Search(len(w.mapped), func(i int) bool { return w.mapped[i].from >= back.from })
	if back.to <= back.from || i < len(w.mapped) && w.mapped[i].from < back.to || i > 0 && w.mapped[i-1].to > back.from {
		return "some of it is mapped"
	}
	w.mapped = slices.Insert(w.mapped, i, back)
	w.join(i + 1)
	w.join(i)
	return ""
}

// join makes one range of range i and the one before, when they touch and are
// both expandable.
func (w *backward) join(i int) {
	if i <= 0 || i >= len(w.mapped) {
		return
	}
	before, after := &w.mapped[i-1], w.mapped[i]
	if before.expandable && after.expandable && before.to == after.from {
		before.to = after.to
		w.mapped = slices.Delete(w.mapped, i, i+1)
	}
}
