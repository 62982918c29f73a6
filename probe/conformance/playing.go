package conformance

import (
	"memtop/snapshots/trace"
	"memtop/snapshots/wire"
)

// played is the memory of one device as the frames give it, by addresses and what
// was asked for alone: the sizes of blocks are the reader's business.
type played struct {
	next                int64 // number of the event that must come next
	live                map[uint64]int64
	requested, reserved int64               // bytes, of now
	allocated           int64               // bytes of blocks, as of the last base
	sums                map[memorySum]int64 // that were seen, and the last event before which
	uncached            bool                // no allocator keeps memory: each allocation is a segment
}

// memorySum is what a memory adds up to, in bytes.
type memorySum struct{ requested, reserved int64 }

// sumsKept bounds what is kept of one device.
const sumsKept = 1 << 18

// note remembers the sum of now.
func (p *played) note() {
	if len(p.sums) < sumsKept {
		p.sums[memorySum{p.requested, p.reserved}] = p.next
	}
}

// load begins with a state.
func (p *played) load(first int64, s *trace.State) {
	p.next, p.live = first, make(map[uint64]int64)
	p.requested, p.reserved, p.allocated = 0, 0, 0
	for i := range s.Segments {
		p.reserved += s.Segments[i].Size
		for k := range s.Segments[i].Blocks {
			if b := &s.Segments[i].Blocks[k]; b.State.Live() {
				p.live[b.Addr] = b.LiveRequested()
				p.requested += b.LiveRequested()
				p.allocated += b.Size
			}
		}
	}
	p.note()
}

// base looks at a base, and compares it with what the events before led to.
func (w *watcher) base(f *wire.Frame, names *trace.Tables) {
	w.device("base.device", f.Device)
	w.layout(&f.State)
	p, known := w.memory[f.Device]
	if !known {
		w.check("base.missed", f.Missed == 0, "0 missed in the first base of a device", "device %d: %d missed", f.Device, f.Missed)
		p = &played{sums: make(map[memorySum]int64), uncached: w.uncached()}
		w.memory[f.Device] = p
	} else {
		w.bridged(f, p)
	}
	p.load(f.First, &f.State)
	w.observed.base(names, f)
}

// bridged looks at a base that is not the first of its device.
func (w *watcher) bridged(f *wire.Frame, p *played) {
	w.check("base.missed", f.First >= p.next, "a base of now: first not before the events that came", "first %d after event %d", f.First, p.next-1)
	w.check("base.missed", f.Missed == -1 || f.Missed == f.First-p.next, "missed: as many as are missing, or -1",
		"missed %d where first %d follows event %d", f.Missed, f.First, p.next-1)
	if f.First != p.next {
		return
	}
	var other played
	other.sums = p.sums
	other.load(f.First, &f.State)
	ok := other.requested == p.requested && other.reserved == p.reserved && len(other.live) == len(p.live)
	w.check("base.consistent", ok, "the memory that the events before led to",
		"device %d, event %d: %d allocations of %d bytes and %d bytes of segments; played forward: %d of %d, and %d",
		f.Device, f.First, len(other.live), other.requested, other.reserved, len(p.live), p.requested, p.reserved)
}

// layout looks whether segments and blocks lie as they must.
func (w *watcher) layout(s *trace.State) {
	var end uint64
	for i := range s.Segments {
		g := &s.Segments[i]
		w.check("base.segments", g.Addr >= end && g.Size > 0, "segments, ascending by address, that do not overlap",
			"a segment of %d bytes at %#x after one that ends at %#x", g.Size, g.Addr, end)
		end = g.Addr + uint64(g.Size)
		at := g.Addr
		for k := range g.Blocks {
			b := &g.Blocks[k]
			w.check("base.blocks", b.Addr == at && b.Size >= 0 && b.LiveRequested() <= b.Size,
				"blocks that follow each other, none smaller than what was asked for",
				"block %d of the segment at %#x: at %#x, %d bytes, %d of them asked for", k, g.Addr, b.Addr, b.Size, b.LiveRequested())
			at = b.Addr + uint64(b.Size)
		}
		w.check("base.blocks", at == end, "blocks up to the segment's end", "the segment at %#x ends at %#x, its blocks at %#x", g.Addr, end, at)
	}
}

// events looks at a run of events.
func (w *watcher) events(f *wire.Frame, names *trace.Tables) {
	p, known := w.memory[f.Device]
	if !w.check("events.base-first", known, "a base of the device before its events", "events of device %d, which had none", f.Device) {
		return
	}
	w.check("events.first", f.First == p.next, "first is where the frame or base before ended", "device %d: first is %d where %d should follow", f.Device, f.First, p.next)
	w.observed.events(names, f)
	for i := range f.Events {
		w.event(f, p, &f.Events[i])
		p.next++
		p.note()
	}
}

// uncached reports whether the program says that it has no caching allocator.
func (w *watcher) uncached() bool {
	for _, s := range w.stream.Hello().Settings {
		if s.Key == "allocator" && s.Value == "none" {
			return true
		}
	}
	return false
}

// hold adds to the bytes in use.
func (p *played) hold(bytes int64) {
	p.requested += bytes
	if p.uncached {
		p.reserved += bytes
	}
}

func (w *watcher) event(f *wire.Frame, p *played, v *trace.Event) {
	if v.Absent&trace.NoTime == 0 {
		w.check("events.time", plausible(v.Time), "microseconds since 1970", "event %d of device %d: %d", p.next, f.Device, v.Time)
	}
	size, live := p.live[v.Addr]
	switch v.Kind {
	case trace.Alloc:
		w.check("events.live", !live, "memory that is free is handed out", "event %d: alloc at %#x, which is live", p.next, v.Addr)
		p.live[v.Addr] = v.Size
		p.hold(v.Size - size)
	case trace.FreeCompleted, trace.Free:
		w.check("events.live", live && size == v.Size, "memory is given back as it was handed out",
			"event %d: %v of %d bytes at %#x, where %d are live", p.next, v.Kind, v.Size, v.Addr, size)
		delete(p.live, v.Addr)
		p.hold(-size)
	case trace.FreeRequested, trace.Retag, trace.Lost:
		w.check("events.live", live, "an event about memory that is live", "event %d: %v at %#x, where nothing is", p.next, v.Kind, v.Addr)
	default:
		p.reserved += v.ReservedDelta()
	}
}
