package alloc

import (
	"errors"
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// request is one call of Alloc.
type request struct {
	bytes   int64 // as asked for
	rounded int64
	segment int64 // the size of a new segment
	stream  *stream
	pool    *pool
	set     *freeSet // of the pool and the stream
	grows   bool     // segments are expandable
	tag     Tag
	stack   trace.StackID
}

// Alloc returns n bytes for use on stream s. For zero bytes it returns the zero
// Allocation and records no event. The error is an [*OOMError], which is an
// [ErrNoMemory], or else the driver's error. Safe for concurrent use.
//
// The memory keeps its old content. It may have been freed on this stream just
// now: work that was queued on s earlier still runs first.
func (a *Allocator) Alloc(n int64, s Stream, t Tag) (Allocation, error) {
	if n == 0 {
		return Allocation{}, nil
	}
	if n < 0 {
		panic(fmt.Sprintf("alloc: a request of %d bytes", n))
	}
	stack := a.callers()
	b, err := a.lockedMalloc(n, s, t, stack)
	if err == nil {
		return b, nil
	}
	var oom *OOMError
	if errors.As(err, &oom) {
		a.tellOOM(oom)
	}
	return Allocation{}, err
}

func (a *Allocator) lockedMalloc(n int64, s Stream, t Tag, stack trace.StackID) (Allocation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, err := a.malloc(n, s, t, stack)
	if err != nil {
		return Allocation{}, err
	}
	return Allocation{b, b.serial}, nil
}

func (a *Allocator) malloc(n int64, s Stream, t Tag, stack trace.StackID) (*block, error) {
	a.tick()
	if !a.capturing() {
		a.processEvents()
	}
	var q request
	q.bytes, q.stream, q.tag, q.stack = n, a.streamOf(s), t, stack
	if n >= trace.MaxRequest {
		return nil, a.tooLarge(&q)
	}
	q.rounded = a.config.Round(n)
	q.grows = a.config.Expandable
	q.from(a.poolFor(q.rounded, q.stream))
	b := a.take(&q)
	if b == nil {
		var err error
		if b, err = a.newMemory(&q); err != nil {
			return nil, err
		}
	}
	return a.handOut(b, &q), nil
}

// from makes a pool serve the request.
func (q *request) from(p *pool) { q.pool, q.set = p, p.freeOf(q.stream) }

// newMemory returns a new block that is large enough and in no pool's list. It
// tries a new segment; then another after it has given back oversize blocks; then
// another after it has given back the whole cache. Either before it gives back, or
// after, it tries the pools that are kept for that.
func (a *Allocator) newMemory(q *request) (*block, error) {
	q.segment = a.config.SegmentSize(q.rounded)
	if a.collecting() {
		a.collectGarbage()
	}
	b, err := a.grow(q)
	if b == nil && err == nil && a.rules.sparesFirst() {
		b = a.spare(q)
	}
	if b == nil && err == nil && a.releaseOversize(q) {
		b, err = a.grow(q)
	}
	if b == nil && err == nil && !a.capturing() {
		a.releaseCached()
		a.stats.AllocRetries++
		b, err = a.grow(q)
	}
	if b == nil && err == nil && !a.rules.sparesFirst() {
		b = a.spare(q)
	}
	if b == nil && err == nil {
		err = a.outOfMemory(q)
	}
	return b, err
}

// take returns the pool's best block for the request, out of the pool, or nil.
func (a *Allocator) take(q *request) *block {
	b := a.bestFree(q)
	if b != nil {
		q.set.remove(b)
	}
	return b
}

// bestFree returns the pool's best block for the request, or nil.
func (a *Allocator) bestFree(q *request) *block {
	if a.collecting() {
		q.pool.searches++
	}
	b := q.set.first(q.rounded)
	if b != nil && b.expandable {
		b = q.preferExpandable(b)
	}
	if b == nil {
		return nil
	}
	c := &a.config
	if q.rounded < c.MaxSplit && b.size >= c.MaxSplit {
		return nil
	}
	if q.rounded >= c.MaxSplit && b.size-q.rounded >= c.maxNonSplit {
		return nil
	}
	return b
}

// Serves reports whether a free block would serve a request of n bytes on a stream
// now. Safe for concurrent use.
func (a *Allocator) Serves(n int64, s Stream) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n <= 0 || n >= trace.MaxRequest {
		return false
	}
	q := a.asked(n, s)
	searches := q.pool.searches
	b := a.bestFree(&q)
	q.pool.searches = searches // a question does not count as a request
	return b != nil
}

// GivesOversize reports whether blocks of max_split_size and more would go back first
// if a request of n bytes on a stream found no memory now. Safe for concurrent use.
func (a *Allocator) GivesOversize(n int64, s Stream) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n <= 0 || n >= trace.MaxRequest || a.config.MaxSplit == trace.NoMaxSplit {
		return false
	}
	q := a.asked(n, s)
	return q.set.first(a.config.MaxSplit) != nil
}

// DriverRequest returns how many bytes the allocator asks of the driver for a
// rounded request that no free block serves. Safe for concurrent use.
func (a *Allocator) DriverRequest(rounded int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config.DriverRequest(rounded)
}

// asked is a request that is only asked about.
func (a *Allocator) asked(n int64, s Stream) request {
	q := request{stream: a.streamOf(s), rounded: a.config.Round(n), grows: a.config.Expandable}
	q.from(a.poolFor(q.rounded, q.stream))
	return q
}

// grow asks the driver for memory. It returns nil and no error when there is
// none, or the limit forbids it, and an error if the settings want that before
// others try.
func (a *Allocator) grow(q *request) (*block, error) {
	if a.limited && a.stats.Reserved()+q.segment > a.limit {
		return nil, nil
	}
	if a.config.rejects {
		if _, total := a.driver.MemInfo(); a.stats.Reserved()+q.segment > total {
			return nil, a.rejection(q)
		}
	}
	if a.config.Expandable {
		return a.growExpandable(q)
	}
	addr, err := a.driverMalloc(q)
	if errors.Is(err, ErrNoMemory) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking %s for %d bytes: %w", a.name, q.segment, err)
	}
	return a.newSegment(addr, q), nil
}

// driverMalloc asks the driver, unlocked if the settings want it. After that the
// caller must not rely on anything that it read before.
func (a *Allocator) driverMalloc(q *request) (uint64, error) {
	if a.config.releaseLock && q.pool.owner == nil {
		a.mu.Unlock()
		defer func() {
			a.mu.Lock()
			a.tick()
		}()
	}
	return a.driver.Malloc(q.segment)
}

// newSegment makes one block of memory from the driver.
func (a *Allocator) newSegment(addr uint64, q *request) *block {
	s := &segment{addr: addr, size: q.segment, stack: q.stack}
	a.addSegment(s)
	b := a.newBlock(s, q.set, addr, q.segment)
	s.first = b
	a.stats.Segment.add(q.pool.kind, 1)
	a.stats.ReservedBytes.add(q.pool.kind, q.segment)
	if q.segment >= a.config.MaxSplit {
		a.stats.OversizeSegments.add(1)
	}
	if q.pool.owner != nil {
		q.pool.owner.segments++
	}
	a.stats.DeviceAllocs++
	a.record(trace.SegmentAlloc, addr, q.segment, q.stream, q.stack, q.pool.mark())
	return b
}

// handOut allocates the front of a free block to the request. It puts the rest
// back if that is worth keeping.
func (a *Allocator) handOut(b *block, q *request) *block {
	wasSplit, k := b.split(), q.pool.kind
	if a.config.splits(b, q) {
		b = a.splitFront(b, q, wasSplit)
	} else {
		a.takeWhole(b, k, wasSplit)
	}
	a.serial++
	b.state, b.serial = stateAllocated, a.serial
	b.requested, b.tag, b.stack = q.bytes, q.tag, q.stack
	a.record(trace.Alloc, b.addr, q.bytes, q.stream, q.stack, q.tag)
	a.stats.Allocation.add(k, 1)
	a.stats.AllocatedBytes.add(k, b.size)
	a.stats.Active.add(k, 1)
	a.stats.ActiveBytes.add(k, b.size)
	a.stats.RequestedBytes.add(k, q.bytes)
	a.stats.Category[b.tag.category].add(q.bytes)
	a.stats.notePeak()
	if b.size >= a.config.MaxSplit {
		a.stats.OversizeAllocations.add(1)
	}
	return b
}

// splits reports whether a block gives back its rest when it serves a request.
func (c *config) splits(b *block, q *request) bool {
	if owner := q.pool.owner; owner != nil && owner.NoSplit {
		return false
	}
	return c.Cuts(q.grows || q.pool.kind == smallPool, q.rounded, b.size-q.rounded)
}

// splitFront cuts the request off the front of a free block and returns it. The
// rest stays, in the same struct, and goes back to the pool.
func (a *Allocator) splitFront(rest *block, q *request, wasSplit bool) *block {
	k := q.pool.kind
	front := a.newBlock(rest.segment, q.set, rest.addr, q.rounded)
	front.link(rest.prev, rest)
	rest.addr += uint64(q.rounded)
	rest.size -= q.rounded
	q.set.add(rest)
	switch {
	case rest.expandable:
	case wasSplit:
		a.stats.InactiveSplitBytes.sub(k, q.rounded)
	default:
		a.stats.InactiveSplit.add(k, 1)
		a.stats.InactiveSplitBytes.add(k, rest.size)
	}
	return front
}

// takeWhole counts a free block that is allocated as a whole.
func (a *Allocator) takeWhole(b *block, k poolKind, wasSplit bool) {
	if wasSplit && !b.expandable {
		a.stats.InactiveSplit.sub(k, 1)
		a.stats.InactiveSplitBytes.sub(k, b.size)
	}
}
