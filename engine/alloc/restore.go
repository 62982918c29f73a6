package alloc

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// Restore gives a new allocator the memory of a recorded state, and returns the
// allocated blocks by their addresses. The state refers to the tables. For a
// pending block Restore records a driver event on the stream user, and the block
// waits for it. It asks the driver for no memory and adds no event to the
// history. Private pools have one user each.
//
// The error is one line: the state contradicts itself. The allocator must not be
// used then.
func (a *Allocator) Restore(tables *trace.Tables, s *trace.State, user Stream) (map[uint64]Allocation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := restorer{a: a, tables: tables, user: user, blocks: make(map[uint64]Allocation), ranges: make(map[*freeSet]*openRange)}
	for i := range s.Segments {
		if i > 0 && s.Segments[i].Addr < s.Segments[i-1].End() {
			return nil, fmt.Errorf("segment %#x overlaps the one before it", s.Segments[i].Addr)
		}
		if err := r.segment(&s.Segments[i]); err != nil {
			return nil, err
		}
	}
	for _, open := range r.order {
		r.unmapped(open, open.segment.addr+uint64(open.segment.size))
	}
	return r.blocks, nil
}

// restorer builds segments of blocks in ascending order of address.
type restorer struct {
	a      *Allocator
	tables *trace.Tables
	user   Stream
	blocks map[uint64]Allocation
	ranges map[*freeSet]*openRange
	order  []*openRange // as they were begun
}

// openRange is an expandable segment to which restoring may still add mapped
// memory.
type openRange struct {
	set     *freeSet
	segment *segment
	last    *block
}

func (r *restorer) segment(s *trace.Segment) error {
	if s.Size <= 0 || s.End() <= s.Addr {
		return fmt.Errorf("segment %#x has %d bytes", s.Addr, s.Size)
	}
	set := r.poolOf(s).freeOf(r.a.streamOf(Stream(r.tables.Streams[s.Stream])))
	open := &openRange{set: set, segment: &segment{addr: s.Addr, size: s.Size}}
	if s.Expandable {
		open = r.rangeFor(set, s)
		r.unmapped(open, s.Addr)
	} else {
		r.a.addSegment(open.segment)
		r.a.stats.Segment.add(set.pool.kind, 1)
	}
	r.a.stats.ReservedBytes.add(set.pool.kind, s.Size)
	if set.pool.owner != nil {
		set.pool.owner.segments++
	}
	return r.cut(s, open)
}

// poolOf returns the pool that a segment belongs to.
func (r *restorer) poolOf(s *trace.Segment) *pool {
	pools := &r.a.pools
	if id := r.tables.Pools[s.Pool]; id != (trace.Pool{}) {
		p := r.a.privatePool(id)
		if p == nil {
			p = r.a.newPrivatePool(id)
			p.users = 1
		}
		pools = &p.pools
	}
	if r.tables.Strings[s.Type] == "small" || s.Type == 0 && s.Size == trace.SmallSegment {
		return &pools.small
	}
	return &pools.large
}

// rangeFor returns the expandable segment that s is a mapped part of. It begins
// with the first.
func (r *restorer) rangeFor(set *freeSet, s *trace.Segment) *openRange {
	open := r.ranges[set]
	if open == nil {
		page := r.a.config.Page(set.pool.kind == smallPool)
		open = &openRange{set: set, segment: &segment{addr: s.Addr, size: r.a.rangeSize(page), page: page, expandable: true}}
		r.a.addSegment(open.segment)
		r.ranges[set] = open
		r.order = append(r.order, open)
	}
	page := open.segment.page
	open.segment.size = max(open.segment.size, (int64(s.End()-open.segment.addr)+page-1)/page*page)
	return open
}

// unmapped fills the segment with addresses without memory up to end.
func (r *restorer) unmapped(open *openRange, end uint64) {
	at := open.segment.addr
	if open.last != nil {
		at = open.last.end()
	}
	if at >= end {
		return
	}
	b := r.a.newBlock(open.segment, open.set, at, int64(end-at))
	b.state = stateUnmapped
	b.link(open.last, nil)
	open.last = b
	open.set.pool.addUnmapped(b)
}

// cut adds a segment's blocks.
func (r *restorer) cut(s *trace.Segment, open *openRange) error {
	at, first := s.Addr, (*block)(nil)
	for i := range s.Blocks {
		tb := &s.Blocks[i]
		if tb.Addr != at || tb.Size <= 0 || tb.Size > int64(s.End()-at) {
			return fmt.Errorf("block %#x of %d bytes leaves a gap in segment %#x", tb.Addr, tb.Size, s.Addr)
		}
		b := r.a.newBlock(open.segment, open.set, tb.Addr, tb.Size)
		b.link(open.last, nil)
		open.last, at = b, b.end()
		if first == nil {
			first = b
		}
		b.requested = tb.Requested
		if tb.State.Live() {
			b.requested = tb.LiveRequested()
			r.handOut(b, tb.State == trace.PendingFree)
		}
	}
	if at != s.End() {
		return fmt.Errorf("the blocks of segment %#x end at %#x, it ends at %#x", s.Addr, at, s.End())
	}
	r.keepFree(first)
	return nil
}

// keepFree puts the free blocks of the last segment into their pool. It does so
// last because how a free block counts depends on its neighbours.
func (r *restorer) keepFree(first *block) {
	for b := first; b != nil; b = b.next {
		if b.inUse() {
			continue
		}
		b.set.add(b)
		if b.split() && !b.expandable {
			r.a.stats.InactiveSplit.add(b.set.pool.kind, 1)
			r.a.stats.InactiveSplitBytes.add(b.set.pool.kind, b.size)
		}
	}
}

func (r *restorer) handOut(b *block, pending bool) {
	a, k := r.a, b.set.pool.kind
	a.stats.Active.add(k, 1)
	a.stats.ActiveBytes.add(k, b.size)
	a.stats.RequestedBytes.add(k, b.requested)
	if pending && a.syncer != nil {
		b.state = statePending
		b.usedBy(a.streamOf(r.user))
		a.recordEvents(b)
		return
	}
	a.serial++
	b.state, b.serial = stateAllocated, a.serial
	r.blocks[b.addr] = Allocation{b, b.serial}
	a.stats.Allocation.add(k, 1)
	a.stats.AllocatedBytes.add(k, b.size)
	a.stats.Category[trace.OtherCategory].add(b.requested)
}
