package alloc

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Free gives a block back. The allocator does not allocate its memory again
// before every stream that used it has passed the point of the call. A block that
// only its own stream used is free at once, for that stream. A block that other
// streams used is pending until their events have happened. The zero Allocation
// is ignored; a block that was freed before is a bug, and panics. Safe for
// concurrent use.
func (a *Allocator) Free(b Allocation) {
	if b.b == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick()
	a.free(b.live("Free of"))
}

// RecordStream notes that stream s uses the block, until now or from now on.
// The block's own stream needs no note. Safe for concurrent use.
func (a *Allocator) RecordStream(b Allocation, s Stream) {
	if b.b == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	bl := b.live("RecordStream of")
	if s == bl.set.stream.handle || a.syncer == nil {
		return
	}
	bl.usedBy(a.streamOf(s))
	if a.capturing() {
		bl.captured = append(bl.captured, a.streamOf(s))
	}
}

// usedBy notes that a stream, not the block's own, uses the block.
func (b *block) usedBy(s *stream) {
	if b.uses == nil {
		b.uses = new([]*stream)
	}
	if !slices.Contains(*b.uses, s) {
		*b.uses = append(*b.uses, s)
	}
}

func (a *Allocator) free(b *block) {
	k := b.set.pool.kind
	b.state, b.serial = statePending, 0
	a.stats.Allocation.sub(k, 1)
	a.stats.AllocatedBytes.sub(k, b.size)
	a.stats.Category[b.tag.category].sub(b.requested)
	a.record(trace.FreeRequested, b.addr, b.requested, b.set.stream, b.stack, b.tag)
	if b.size >= a.config.MaxSplit {
		a.stats.OversizeAllocations.sub(1)
	}
	switch {
	case b.uses == nil || len(*b.uses) == 0:
		a.complete(b)
	case a.capturing():
		a.deferred = append(a.deferred, b)
	default:
		a.recordEvents(b)
	}
}

// complete makes a block free that is no longer in use, and joins it
// with its neighbours.
func (a *Allocator) complete(b *block) {
	a.record(trace.FreeCompleted, b.addr, b.requested, b.set.stream, b.stack, b.tag)
	size, k := b.size, b.set.pool.kind
	b.state, b.tag, b.stack, b.captured = stateFree, Tag{}, 0, nil
	blocks, bytes := a.joinFree(b)
	if b.split() {
		blocks++
		bytes += b.size
	}
	if !b.expandable {
		a.stats.InactiveSplit.change(k, blocks)
		a.stats.InactiveSplitBytes.change(k, bytes)
	}
	a.stats.Active.sub(k, 1)
	a.stats.ActiveBytes.sub(k, size)
	a.stats.RequestedBytes.sub(k, b.requested)
}

// joinFree joins a block with its free neighbours and puts the result into the
// pool. It returns how the number and the bytes of the pool's other blocks
// change.
func (a *Allocator) joinFree(b *block) (blocks, bytes int64) {
	if prev := b.prev; b.joins(prev) {
		b.set.remove(prev)
		blocks--
		bytes -= prev.size
		a.joinPrev(b)
	}
	if next := b.next; b.joins(next) {
		b.set.remove(next)
		blocks--
		bytes -= next.size
		a.joinNext(b)
	}
	b.set.add(b)
	return blocks, bytes
}

// joins reports whether b has this neighbour and both are free, or both are
// unmapped.
func (b *block) joins(neighbour *block) bool {
	return neighbour != nil && neighbour.state == b.state
}

// joinPrev makes the block before b part of b. The caller changes the pool.
func (a *Allocator) joinPrev(b *block) {
	prev := b.prev
	b.addr = prev.addr
	b.size += prev.size
	b.link(prev.prev, b.next)
	a.recycle(prev)
}

// joinNext does the same with the block after b.
func (a *Allocator) joinNext(b *block) {
	next := b.next
	b.size += next.size
	b.link(b.prev, next.next)
	a.recycle(next)
}
