package alloc

import "github.com/memtop/memtop/snapshots/trace"

// Counter follows one quantity. Allocated and Freed add up its increases and
// decreases.
type Counter struct {
	Current, Peak, Allocated, Freed int64
}

func (c *Counter) add(n int64) {
	c.Current += n
	if c.Current > c.Peak {
		c.Peak = c.Current
	}
	c.Allocated += n
}

func (c *Counter) sub(n int64) {
	c.Current -= n
	c.Freed += n
}

// PoolCounter follows a quantity in all pools together, in the small pools, and
// in the large pools. A block counts in the pool where it lies, whatever its
// size.
type PoolCounter struct {
	All    Counter
	byPool [2]Counter // the small and the large one, in an array, so that choosing needs no branch
}

// Small returns the counter of the small pools.
func (c *PoolCounter) Small() *Counter { return c.of(smallPool) }

// Large returns the counter of the large pools.
func (c *PoolCounter) Large() *Counter { return c.of(largePool) }

func (c *PoolCounter) of(k poolKind) *Counter { return &c.byPool[(k-smallPool)%2] }

func (c *PoolCounter) add(k poolKind, n int64) {
	c.All.add(n)
	c.of(k).add(n)
}

func (c *PoolCounter) sub(k poolKind, n int64) {
	c.All.sub(n)
	c.of(k).sub(n)
}

// change adds a difference of either sign; nothing is counted when it is 0.
func (c *PoolCounter) change(k poolKind, n int64) {
	c.add(k, max(n, 0))
	c.sub(k, max(-n, 0))
}

// Stats is what torch.cuda.memory_stats() returns, with its exact meaning, and
// the bytes by category. Bytes of blocks are rounded bytes, except in
// RequestedBytes and Category.
type Stats struct {
	Allocation         PoolCounter // blocks handed out and not yet freed
	Segment            PoolCounter // pieces of memory from the driver, expandable ones excluded
	Active             PoolCounter // blocks handed out or pending free
	InactiveSplit      PoolCounter // free blocks that share their segment, expandable ones excluded
	AllocatedBytes     PoolCounter
	ReservedBytes      PoolCounter
	ActiveBytes        PoolCounter
	InactiveSplitBytes PoolCounter
	RequestedBytes     PoolCounter // of active blocks

	OversizeAllocations Counter // blocks of at least max_split_size
	OversizeSegments    Counter

	AllocRetries   int64 // requests that were tried again after the cache was emptied
	OOMs           int64
	SyncAllStreams int64 // waits for all outstanding events
	DeviceAllocs   int64 // calls that got memory from the driver
	DeviceFrees    int64
	MaxSplitSize   int64 // the setting in bytes, −1 when not set

	// Category holds, by [Category], the requested bytes of the blocks handed out
	// and not yet freed. PyTorch has no such number.
	Category [trace.CategoryCount]Counter
	// CategoryAtPeak holds the same at the moment when AllocatedBytes was last as
	// high as its peak, so that the peak can be explained.
	CategoryAtPeak [trace.CategoryCount]int64
}

// Stats returns the current values. Safe for concurrent use.
func (a *Allocator) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stats
}

// ResetPeak makes the current values the peaks. Safe for concurrent use.
func (a *Allocator) ResetPeak() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stats.each(func(c *Counter) { c.Peak = c.Current })
	a.stats.notePeak()
}

// notePeak is called when blocks were handed out or their categories changed.
func (s *Stats) notePeak() {
	if s.AllocatedBytes.All.Current < s.AllocatedBytes.All.Peak {
		return
	}
	for i := range s.Category {
		s.CategoryAtPeak[i] = s.Category[i].Current
	}
}

func (s *Stats) each(do func(*Counter)) {
	for _, c := range []*PoolCounter{
		&s.Allocation, &s.Segment, &s.Active, &s.InactiveSplit,
		&s.AllocatedBytes, &s.ReservedBytes, &s.ActiveBytes, &s.InactiveSplitBytes, &s.RequestedBytes,
	} {
		do(&c.All)
		do(c.Small())
		do(c.Large())
	}
	do(&s.OversizeAllocations)
	do(&s.OversizeSegments)
	for i := range s.Category {
		do(&s.Category[i])
	}
}

// Allocated returns torch.cuda.memory_allocated(): the bytes of the blocks
// handed out.
func (s *Stats) Allocated() int64 { return s.AllocatedBytes.All.Current }

// Reserved returns torch.cuda.memory_reserved(): the bytes obtained from the
// driver.
func (s *Stats) Reserved() int64 { return s.ReservedBytes.All.Current }
