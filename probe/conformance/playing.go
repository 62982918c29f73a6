package conformance

import (
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// played is the memory of one device according to the frames. It has only
// addresses and requested bytes: the reader computes the sizes of blocks.
type played struct {
	next                int64              // number of the event that must come next
	live                map[uint64]held    // by address
	requested, reserved int64              // current bytes
	allocated           int64              // bytes of blocks, as of the last base
	time                int64              // of the last event
	sums                map[memorySum]bool // all sums that occurred
	uncached            bool               // no allocator keeps memory: each allocation is a segment
}

// held is live memory.
type held struct {
	bytes   int64 // requested
	pending bool  // a free was requested
}

// memorySum is the totals of a memory, in bytes.
type memorySum struct{ requested, reserved int64 }

// sumsKept bounds the sums kept of one device.
const sumsKept = 1 << 18

func newPlayed(uncached bool) *played {
	return &played{sums: make(map[memorySum]bool), uncached: uncached}
}

// note keeps the current sum.
func (p *played) note() {
	if len(p.sums) < sumsKept {
		p.sums[memorySum{p.requested, p.reserved}] = true
	}
}

// load begins with a state.
func (p *played) load(first int64, s *trace.State) {
	p.next, p.live = first, make(map[uint64]held)
	p.requested, p.reserved, p.allocated = 0, 0, 0
	for i := range s.Segments {
		p.reserved += s.Segments[i].Size
		for k := range s.Segments[i].Blocks {
			if b := &s.Segments[i].Blocks[k]; b.State.Live() {
				p.live[b.Addr] = held{b.LiveRequested(), b.State == trace.PendingFree}
				p.requested += b.LiveRequested()
				p.allocated += b.Size
			}
		}
	}
	p.note()
}

// hold adds to the bytes in use.
func (p *played) hold(bytes int64) {
	p.requested += bytes
	if p.uncached {
		p.reserved += bytes
	}
}

// uncached reports whether the program declares that it has no caching allocator.
func (w *watcher) uncached() bool {
	for _, s := range w.stream.Hello().Settings {
		if s.Key == "allocator" && s.Value == "none" {
			return true
		}
	}
	return false
}

// events checks a run of events. It notes a rule once if all of them keep it.
func (w *watcher) events(f *wire.Frame, names *trace.Tables) {
	p, known := w.memory[f.Device]
	if !w.check("events.first", known, "a base of the device before its events", "events of device %d, which had none", f.Device) {
		return
	}
	w.check("events.first", f.First == p.next, "first is where the frame or base before ended", "device %d: first is %d where %d should follow", f.Device, f.First, p.next)
	for i := range f.Events {
		w.event(f.Device, p, &f.Events[i])
		p.next++
		p.note()
	}
	w.passed("events.time")
	w.passed("events.live")
	if p.uncached {
		w.passed("uncached.events")
		w.passed("uncached.sizes")
	}
}

func (w *watcher) event(device int, p *played, v *trace.Event) {
	if v.Absent&trace.NoTime == 0 {
		w.timed(device, p, v.Time)
	}
	if _, sized := v.BlockSize(); sized {
		w.check("events.slack", w.asked.minor > 0, "no slack to who does not ask for minor version 1", "event %d of device %d has some", p.next, device)
	}
	if v.Kind == trace.StepEnd {
		w.stepEnds(device, v.Size)
	}
	w.move(p, v)
}

func (w *watcher) timed(device int, p *played, us int64) {
	if us < p.time {
		w.broken("events.time", "times that do not go back", "event %d of device %d: %d µs back", p.next, device, p.time-us)
	}
	if p.time = us; us < earliest || us > w.latest {
		w.broken("events.time", "microseconds since 1970", "event %d of device %d: %d", p.next, device, us)
	}
}

// move plays an event, and checks that it fits the memory.
func (w *watcher) move(p *played, v *trace.Event) {
	at, live := p.live[v.Addr]
	wrong := false
	switch v.Kind {
	case trace.Alloc:
		wrong = live
		p.live[v.Addr] = held{bytes: v.Size}
		p.hold(v.Size - at.bytes)
	case trace.FreeRequested:
		wrong = !live || at.pending || at.bytes != v.Size
		at.pending = true
		p.live[v.Addr] = at
	case trace.FreeCompleted, trace.Free:
		wrong = !live || at.bytes != v.Size || at.pending != (v.Kind == trace.FreeCompleted)
		delete(p.live, v.Addr)
		p.hold(-at.bytes)
	case trace.Retag, trace.Lost:
		wrong = !live
	default:
		p.reserved += v.ReservedDelta()
	}
	if wrong {
		w.broken("events.live", "alloc takes free memory; the others are about live memory, of the size of its alloc; free completed follows free requested",
			"event %d: %v of %d bytes at %#x, where %d bytes are live, freed: %v", p.next, v.Kind, v.Size, v.Addr, at.bytes, at.pending)
	}
	if p.uncached {
		w.alone(p, v)
	}
}

// alone checks an event of a device without a caching allocator.
func (w *watcher) alone(p *played, v *trace.Event) {
	if v.Kind.Segment() {
		w.broken("uncached.events", "no events 5 to 8", "event %d: %v", p.next, v.Kind)
	}
	if v.Kind == trace.Alloc && v.Size <= 0 {
		w.broken("uncached.sizes", "sizes above 0", "event %d: alloc of %d bytes", p.next, v.Size)
	}
}
