package replay

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/snapshots/trace"
)

// counted is the driver of a device that only counts its bytes.
type counted struct {
	waits
	*dry.Memory
}

// plenty is the memory of a device if it is unknown. That leaves addresses for a
// few thousand times as much.
const plenty = 1 << 50

func newCounted(total int64) *counted { return &counted{newWaits(), dry.NewMemory(total)} }

// waits stands for the streams that used a block beside its own: what a freed block
// waits for has happened when the recording completes its free. It is that part of a
// driver.
type waits struct {
	last  alloc.Event
	of    map[uint64]alloc.Event // by the recorded address of the freed block
	ready map[alloc.Event]bool
}

func newWaits() waits {
	return waits{of: make(map[uint64]alloc.Event), ready: make(map[alloc.Event]bool)}
}

// RecordEvent returns a new event: what a freed block waits for.
func (w *waits) RecordEvent(alloc.Stream) alloc.Event {
	w.last++
	return w.last
}

// none reports whether no freed block waits.
func (w *waits) none() bool { return len(w.of) == 0 }

// freed notes that the block at a recorded address waits for the next event.
func (w *waits) freed(addr uint64) { w.of[addr] = w.last + 1 }

// restored notes the events that were recorded for the pending blocks of a state, in
// their order.
func (w *waits) restored(base *trace.State) {
	last := alloc.Event(0)
	for i := range base.Segments {
		for k := range base.Segments[i].Blocks {
			if b := &base.Segments[i].Blocks[k]; b.State == trace.PendingFree {
				last++
				w.of[b.Addr] = last
			}
		}
	}
}

// completed notes that the free of the block at a recorded address is complete, and
// reports whether it waited.
func (w *waits) completed(addr uint64) bool {
	e, ok := w.of[addr]
	if ok {
		delete(w.of, addr)
		w.ready[e] = true
	}
	return ok
}

// over notes that the block at a recorded address does not wait any more.
func (w *waits) over(addr uint64) { delete(w.of, addr) }

// EventReady reports whether an event has happened: whether the recording has completed
// the free. It is not asked again when it has.
func (w *waits) EventReady(e alloc.Event) bool {
	ok := w.ready[e]
	delete(w.ready, e)
	return ok
}

// SyncEvent lets an event happen.
func (w *waits) SyncEvent(e alloc.Event) { delete(w.ready, e) }
