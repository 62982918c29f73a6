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
