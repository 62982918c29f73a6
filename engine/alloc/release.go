package alloc

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// EmptyCache gives all unused memory back to the driver: segments without a live
// block, and the whole free pages of expandable segments. It first waits for the
// pending blocks. While requests are diverted to a private pool it does nothing.
// Safe for concurrent use.
func (a *Allocator) EmptyCache() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick()
	switch {
	case !a.capturing():
		a.releaseCached()
	case a.rules.emptiesDropped():
		a.releasePrivate(func(*privatePool) bool { return true })
	}
}

// releaseCached empties the cache: the large pool, the small one, then private
// pools that were released, each in the order of its free blocks.
func (a *Allocator) releaseCached() {
	a.synchronize(func(*block) bool { return true })
	a.releasePool(&a.pools.large)
	a.releasePool(&a.pools.small)
	a.releasePrivate(func(*privatePool) bool { return true })
}

// releasePool gives back the pool's whole segments, then unmaps the free pages of
// its expandable segments.
func (a *Allocator) releasePool(p *pool) {
	var expandable []*block
	for _, b := range p.allFree() {
		switch {
		case b.expandable:
			expandable = append(expandable, b)
		case !b.split():
			a.releaseBlock(b)
		}
	}
	for _, b := range expandable {
		a.unmap(b)
		if !b.mapped() && !b.split() {
			a.unreserve(b)
		}
	}
}

// releaseBlock gives a free block that is a whole segment back to the driver.
func (a *Allocator) releaseBlock(b *block) {
	k := b.set.pool.kind
	a.stats.DeviceFrees++
	a.record(trace.SegmentFree, b.addr, b.size, b.set.stream, b.segment.stack, b.set.pool.mark())
	a.driver.Free(b.addr)
	a.stats.Segment.sub(k, 1)
	a.stats.ReservedBytes.sub(k, b.size)
	if b.size >= a.config.MaxSplit {
		a.stats.OversizeSegments.sub(1)
	}
	if b.set.pool.owner != nil {
		b.set.pool.owner.segments--
	}
	b.set.remove(b)
	a.removeSegment(b.segment)
	a.recycle(b)
}

// releaseOversize gives back just enough blocks of max_split_size and more for
// a new segment to have room: one that is large enough alone, or else several,
// the largest first. It reports whether that was enough.
func (a *Allocator) releaseOversize(q *request) bool {
	least := a.config.MaxSplit
	if least == trace.NoMaxSplit {
		return false
	}
	want := max(q.rounded, least)
	if b := q.set.first(want); b != nil && !b.expandable {
		a.releaseBlock(b)
		return true
	}
	released := int64(0)
	for _, b := range q.set.largestBelow(want) {
		if released >= want || b.size < least {
			break
		}
		if !b.expandable {
			released += b.size
			a.releaseBlock(b)
		}
	}
	return released >= want
}

// collecting reports whether the allocator collects garbage: it does so only
// under a limit.
func (a *Allocator) collecting() bool { return a.limited && a.config.gcThreshold > 0 }

// collectGarbage gives back whole large segments that have been free for at least
// the average time, until the reserved bytes fall below the set part of the
// limit.
func (a *Allocator) collectGarbage() {
	target := a.stats.Reserved() - int64(a.config.gcThreshold*float64(a.limit))
	p := &a.pools.large
	blocks := slices.DeleteFunc(p.allFree(), func(b *block) bool { return b.expandable || b.split() })
	total := int64(0)
	for _, b := range blocks {
		total += p.ageOf(b)
	}
	for reclaimed, freed := int64(0), true; freed && reclaimed < target && len(blocks) > 0; {
		oldest := float64(total) / float64(len(blocks))
		freed = false
		blocks = slices.DeleteFunc(blocks, func(b *block) bool {
			if float64(p.ageOf(b)) < oldest {
				return false
			}
			freed = true
			reclaimed += b.size
			total -= p.ageOf(b)
			a.releaseBlock(b)
			return true
		})
	}
}

func (a *Allocator) addSegment(s *segment) {
	a.made++
	s.number = a.made
	at, _ := slices.BinarySearchFunc(a.segments, s.addr, segmentOrder)
	a.segments = slices.Insert(a.segments, at, s)
}

func (a *Allocator) removeSegment(s *segment) {
	at, ok := slices.BinarySearchFunc(a.segments, s.addr, segmentOrder)
	if !ok {
		panic("alloc: a segment is not among the segments")
	}
	a.segments = slices.Delete(a.segments, at, at+1)
}

func segmentOrder(s *segment, addr uint64) int {
	switch {
	case s.addr < addr:
		return -1
	case s.addr > addr:
		return 1
	default:
		return 0
	}
}
