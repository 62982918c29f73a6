package alloc

import "github.com/memtop/memtop/snapshots/trace"

// PoolBlocks returns the addresses of the blocks handed out of a private pool,
// ascending. Safe for concurrent use.
func (a *Allocator) PoolBlocks(id trace.Pool) []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var addrs []uint64
	for _, s := range a.segments {
		for b := s.first; b != nil; b = b.next {
			if b.allocated() && b.set.pool.id() == id {
				addrs = append(addrs, b.addr)
			}
		}
	}
	return addrs
}

// ResetAccumulated sets the sums of increases and decreases, and the counts of
// calls, to 0. Safe for concurrent use.
func (a *Allocator) ResetAccumulated() {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &a.stats
	s.each(func(c *Counter) { c.Allocated, c.Freed = 0, 0 })
	s.AllocRetries, s.OOMs, s.SyncAllStreams, s.DeviceAllocs, s.DeviceFrees = 0, 0, 0, 0, 0
}

// IsZero reports whether the block is no memory.
func (b Allocation) IsZero() bool { return b.b == nil }

// Size returns how many bytes the block occupies, at least what was requested.
func (b Allocation) Size() int64 {
	if b.b == nil {
		return 0
	}
	return b.live("Size of").size
}

// Stream returns the stream that the block was allocated for.
func (b Allocation) Stream() Stream {
	if b.b == nil {
		return 0
	}
	return b.live("Stream of").set.stream.handle
}
