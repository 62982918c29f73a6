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

// Reserve is the driver's: where the next mapping for a request like this one begins, of
// this call or, if it finds no memory, of a later one.
func (r *recording) Reserve(size int64) (uint64, error) {
	request := r.call(r.at).last
	for at := r.at; request != nil && at < r.events.Len(); at = ours(r.events, at+1) {
		e := r.events.At(at)
		if e.Kind == trace.SegmentMap && e.Stream == request.Stream && r.alike(r.call(at).last, request) {
			return e.Addr, nil
		}
	}
	r.nowhere += uint64(size)
	return firstNowhere + r.nowhere, nil
}

// firstNowhere is where addresses begin that no recording has.
const firstNowhere = 1 << 62

// alike reports whether requests go to the small or the large pool of one owner.
func (r *recording) alike(x, y *trace.Event) bool {
	return x != nil && (x.Size <= trace.SmallLimit) == (y.Size <= trace.SmallLimit) && r.pools.Of(x) == r.pools.Of(y)
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
