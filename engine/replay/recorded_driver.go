package replay

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// Malloc is the driver's: the recorded segment, if one comes now.
func (r *recording) Malloc(size int64) (uint64, error) {
	if e := r.next(); e != nil && e.Kind == trace.SegmentAlloc && e.Size == size {
		return e.Addr, nil
	}
	return 0, alloc.ErrNoMemory
}

// Free is the driver's.
func (r *recording) Free(uint64) {}

// deviceBytes is how much memory the driver says that the device has: a recording
// does not have it. It only decides how many addresses are reserved.
const deviceBytes = 80 << 30

// MemInfo is the driver's.
func (r *recording) MemInfo() (free, total int64) { return 0, deviceBytes }

// Reserve is the driver's: where the next mapping of this call begins.
func (r *recording) Reserve(int64) (uint64, error) {
	end := r.call(r.at).end
	for at := r.at; at < end; at = ours(r.events, at+1) {
		if e := r.events.At(at); e.Kind == trace.SegmentMap {
			return e.Addr, nil
		}
	}
	return 0, alloc.ErrNoMemory
}

// Unreserve is the driver's.
func (r *recording) Unreserve(uint64, int64) {}

// Map is the driver's: there is memory where the recording got some.
func (r *recording) Map(addr uint64, _ int64) error {
	if e := r.next(); e == nil || e.Kind != trace.SegmentMap || e.Addr != addr {
		return alloc.ErrNoMemory
	}
	return nil
}

// Unmap is the driver's.
func (r *recording) Unmap(uint64, int64) {}

// RecordEvent is the driver's.
func (r *recording) RecordEvent(alloc.Stream) alloc.Event { return r.waits.record() }

// EventReady is the driver's.
func (r *recording) EventReady(e alloc.Event) bool { return r.waits.passed(e) }

// SyncEvent is the driver's.
func (r *recording) SyncEvent(e alloc.Event) { r.waits.forget(e) }
