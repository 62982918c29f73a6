package alloc

import (
	"errors"
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Expandable segments
//
// One segment for each stream and pool reserves more addresses than the device
// has memory, 9/8 of it, or as many as the settings say, and gets memory page by page from the front: 2 MiB in
// the small pool, 20 MiB in the large. Its blocks are allocated, free, or
// unmapped; neighbours join when both are free or both are unmapped. A request
// that fits no free block takes the lowest address where enough free and
// unmapped addresses follow each other. Pages that lie whole inside free
// blocks are unmapped when the cache is emptied.

// preferExpandable starts at the first fitting block, which is expandable, and
// returns the block to use, nil for none. An expandable block counts with the
// unmapped addresses that follow it, so that the shortest tail is used up first.
// If the request must not grow, expandable blocks are passed over.
func (q *request) preferExpandable(b *block) *block {
	if !q.grows {
		for b != nil && b.expandable {
			b = b.set.next(b)
		}
		return b
	}
	for b.expandable {
		next := b.set.next(b)
		if next == nil || next.reach() >= b.reach() {
			break
		}
		b = next
	}
	return b
}

// reach is the block's size with the unmapped addresses right after it.
func (b *block) reach() int64 {
	if b.next != nil && !b.next.mapped() {
		return b.size + b.next.size
	}
	return b.size
}

// growExpandable maps memory for the request and returns the free block that
// it became part of, out of its pool.
func (a *Allocator) growExpandable(q *request) (*block, error) {
	b, err := a.expandableSpace(q)
	if b == nil || err != nil {
		return nil, err
	}
	if !b.mapped() {
		if ok, err := a.mapFront(b, min(b.size, q.rounded), q); !ok {
			return nil, err
		}
	}
	for b.size < q.rounded {
		next := b.next
		if ok, err := a.mapFront(next, min(q.rounded-b.size, next.size), q); !ok {
			return nil, err
		}
		b = next // the block before it is now part of it
	}
	b.set.remove(b)
	return b, nil
}

// expandableSpace returns the first block of the lowest sequence of free and
// unmapped blocks with room for the request, or nil when the device has too
// little memory.
func (a *Allocator) expandableSpace(q *request) (*block, error) {
	for _, b := range q.pool.unmapped {
		if b.set != q.set {
			continue
		}
		if b.prev != nil && !b.prev.inUse() {
			b = b.prev
		}
		room := int64(0)
		for c := b; c != nil && room < q.rounded && !c.inUse(); c = c.next {
			room += c.size
		}
		if room >= q.rounded {
			return b, nil
		}
	}
	return a.reserve(q)
}

// reserve makes a new expandable segment, all of it unmapped. It returns nil for
// a request that is larger than the segment.
func (a *Allocator) reserve(q *request) (*block, error) {
	page := a.config.Page(q.pool.kind == smallPool)
	size := a.rangeSize(page)
	if size < q.rounded {
		return nil, nil
	}
	addr, err := a.mapper.Reserve(size)
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes of addresses on %s: %w", size, a.name, err)
	}
	s := &segment{addr: addr, size: size, page: page, stack: q.stack, expandable: true}
	a.addSegment(s)
	b := a.newBlock(s, q.set, addr, size)
	b.state = stateUnmapped
	s.first = b
	q.pool.addUnmapped(b)
	return b, nil
}

// rangeSize returns how many addresses an expandable segment reserves.
func (a *Allocator) rangeSize(page int64) int64 {
	_, total := a.driver.MemInfo()
	return (a.config.reserve.of(total) + page - 1) / page * page
}

// mapFront maps memory to at least the first size bytes of an unmapped block,
// which begins at a page, and joins it with its free neighbours. It reports false
// when the device has none left.
func (a *Allocator) mapFront(b *block, size int64, q *request) (bool, error) {
	s := b.segment
	size = (size + s.page - 1) / s.page * s.page
	addr := b.addr
	if err := a.mapper.Map(addr, size); errors.Is(err, ErrNoMemory) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("mapping %d bytes on %s: %w", size, a.name, err)
	}
	b.set.pool.removeUnmapped(b)
	b.state = stateFree
	if b.size == s.size {
		s.stack = q.stack // the request that reserved it may have failed
	}
	if size < b.size {
		rest := a.newBlock(s, b.set, addr+uint64(size), b.size-size)
		rest.state = stateUnmapped
		rest.link(b, b.next)
		b.size = size
		b.set.pool.addUnmapped(rest)
	}
	a.joinAlike(b)
	b.set.add(b)
	a.stats.ReservedBytes.add(b.set.pool.kind, size)
	a.stats.DeviceAllocs++
	if b.set.pool.owner != nil {
		b.set.pool.owner.segments++
	}
	a.record(trace.SegmentMap, addr, size, b.set.stream, q.stack, b.set.pool.mark())
	return true, nil
}

// unmap unmaps the whole pages inside a free block.
func (a *Allocator) unmap(b *block) {
	s, page := b.segment, uint64(b.segment.page)
	from := s.addr + (b.addr-s.addr+page-1)/page*page
	to := s.addr + (b.end()-s.addr)/page*page
	if from >= to {
		return
	}
	size := int64(to - from)
	a.mapper.Unmap(from, size)
	b.set.remove(b)
	if b.addr < from {
		a.addPiece(b, b.addr, int64(from-b.addr)).link(b.prev, b)
	}
	if to < b.end() {
		a.addPiece(b, to, int64(b.end()-to)).link(b, b.next)
	}
	b.addr, b.size, b.state, b.requested = from, size, stateUnmapped, 0 // no request has asked for new memory
	a.joinAlike(b)
	b.set.pool.addUnmapped(b)
	a.stats.ReservedBytes.sub(b.set.pool.kind, size)
	a.stats.DeviceFrees++
	if b.set.pool.owner != nil {
		b.set.pool.owner.segments--
	}
	a.record(trace.SegmentUnmap, from, size, b.set.stream, s.stack, b.set.pool.mark())
}

// addPiece returns a free block for a part of b that stays mapped.
func (a *Allocator) addPiece(b *block, addr uint64, size int64) *block {
	piece := a.newBlock(b.segment, b.set, addr, size)
	b.set.add(piece)
	return piece
}

// unreserve gives back the addresses of a segment without mapped memory.
func (a *Allocator) unreserve(b *block) {
	b.set.pool.removeUnmapped(b)
	a.mapper.Unreserve(b.segment.addr, b.segment.size)
	a.removeSegment(b.segment)
	a.recycle(b)
}

// joinAlike joins a block that was just mapped or unmapped, and is in no list,
// with its neighbours in the same state. The neighbours leave their lists.
func (a *Allocator) joinAlike(b *block) {
	if b.joins(b.prev) {
		b.prev.leave()
		a.joinPrev(b)
	}
	if b.joins(b.next) {
		b.next.leave()
		a.joinNext(b)
	}
}

// leave takes a free or unmapped block out of its pool.
func (b *block) leave() {
	if b.mapped() {
		b.set.remove(b)
	} else {
		b.set.pool.removeUnmapped(b)
	}
}
