package conformance

import (
	"bytes"
	"context"

	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// base checks a base, and compares it with the state that the events before it
// led to.
func (w *watcher) base(f *wire.Frame, names *trace.Tables) {
	w.device("base.device", f.Device)
	delete(w.unbased, f.Device)
	w.layout(&f.State)
	p, known := w.memory[f.Device]
	if !known {
		w.check("base.missed", f.Missed == 0, "0 missed in the first base of a device", "device %d: %d missed", f.Device, f.Missed)
		p = newPlayed(w.uncached())
		w.memory[f.Device] = p
	} else {
		w.bridged(f, p)
	}
	if p.uncached {
		w.single(&f.State)
	}
	p.load(f.First, &f.State)
}

// bridged checks a base that is not the first of its device.
func (w *watcher) bridged(f *wire.Frame, p *played) {
	w.check("base.missed", f.First >= p.next, "a base of now: first not before the events that came", "first %d after event %d", f.First, p.next-1)
	w.check("base.missed", f.Missed == -1 || f.Missed == f.First-p.next, "missed: as many as are missing, or -1",
		"missed %d where first %d follows event %d", f.Missed, f.First, p.next-1)
	if f.First != p.next {
		return
	}
	other := newPlayed(p.uncached)
	other.load(f.First, &f.State)
	ok := other.requested == p.requested && other.reserved == p.reserved && len(other.live) == len(p.live)
	w.check("base.same", ok, "the memory that the events before led to",
		"device %d, event %d: %d allocations of %d bytes and %d bytes of segments; played forward: %d of %d, and %d",
		f.Device, f.First, len(other.live), other.requested, other.reserved, len(p.live), p.requested, p.reserved)
	if w.asked.minor > 0 || w.asked.past {
		w.sizes(f)
	}
}

// sizes compares the sizes of a base's blocks with those that the rules give.
func (w *watcher) sizes(f *wire.Frame) {
	t := w.stream.Trace()
	d := t.Device(f.Device)
	if d == nil {
		return
	}
	played := make(map[uint64]int64)
	for i := range d.Final.Segments {
		for _, b := range d.Final.Segments[i].Blocks {
			if b.State.Live() {
				played[b.Addr] = b.Size
			}
		}
	}
	for i := range f.State.Segments {
		for _, b := range f.State.Segments[i].Blocks {
			if size, known := played[b.Addr]; known && b.State.Live() {
				w.check("events.play", size == b.Size, "blocks of the sizes that follow from the rules, or slack", "device %d, event %d: %d bytes at %#x; played forward: %d",
					f.Device, f.First, b.Size, b.Addr, size)
			}
		}
	}
}

// layout checks that segments and blocks lie where they may.
func (w *watcher) layout(s *trace.State) {
	var end uint64
	for i := range s.Segments {
		g := &s.Segments[i]
		w.check("base.segments", g.Addr >= end && g.Size > 0, "segments, ascending by address, that do not overlap",
			"a segment of %d bytes at %#x after one that ends at %#x", g.Size, g.Addr, end)
		end = g.End()
		at := g.Addr
		for k := range g.Blocks {
			b := &g.Blocks[k]
			w.check("base.blocks", b.Addr >= at && b.Size > 0 && b.Addr+uint64(b.Size) <= end && b.LiveRequested() <= b.Size,
				"blocks that follow each other in their segment, none smaller than what was asked for",
				"block %d of the segment of %d bytes at %#x: at %#x, %d bytes, %d of them asked for", k, g.Size, g.Addr, b.Addr, b.Size, b.LiveRequested())
			at = b.Addr + uint64(b.Size)
		}
	}
}

// single checks that each segment is one allocation.
func (w *watcher) single(s *trace.State) {
	for i := range s.Segments {
		g := &s.Segments[i]
		ok := len(g.Blocks) == 1 && g.Blocks[0].Addr == g.Addr && g.Blocks[0].Size == g.Size && g.Blocks[0].LiveRequested() == g.Size
		w.check("uncached.base", ok, "one block of the same address and size", "the segment of %d bytes at %#x has the blocks %+v", g.Size, g.Addr, g.Blocks)
	}
	w.passed("uncached.events")
	w.passed("uncached.sizes")
}

// snapshotsRead bounds how many snapshots of a stream the examination reads.
const snapshotsRead = 4

// part checks a part of PyTorch's snapshot.
func (w *watcher) part(f *wire.Frame) {
	if f.Left > 0 || w.parts == snapshotsRead {
		return
	}
	w.parts++
	t, err := pytorch.Decode(context.Background(), bytes.NewReader(bytes.Join(f.Parts, nil)), pytorch.Options{Bound: trace.DefaultBound})
	if err != nil || t.Info.Truncated {
		w.broken("parts.pickle", "a pickle to its last byte", "%v", errorOr(err, "it ends early"))
		return
	}
	w.passed("parts.pickle")
	for i := range t.Devices {
		id := t.Devices[i].ID
		w.device("parts.devices", id)
		w.check("parts.devices", w.memory[id] == nil, "no base of a device that comes by snapshots", "device %d has both", id)
	}
}
