package pytorchtest

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Where the simulated driver's addresses begin: ordinary segments, and the
// reserved ranges of expandable ones.
const (
	driverBase = 0x7f00_0000_0000
	heapBase   = 0x7f80_0000_0000
	heapSize   = 1 << 36
)

// newSegment gets memory from the driver: the lowest hole that is large
// enough, so that addresses are used again.
func (a *Allocator) newSegment(w where, size int64) *block {
	if a.reserved+size > a.capacity {
		return nil
	}
	addr := uint64(driverBase)
	for _, s := range a.segments {
		if s.expandable {
			continue
		}
		if s.addr-addr >= uint64(size) {
			break
		}
		addr = s.end()
	}
	s := &segment{where: w, addr: addr, size: size, stack: a.recorder.stack}
	a.insert(s)
	a.recorder.segment(trace.SegmentAlloc, s.addr, s.size, s)
	return s.blocks[0]
}

// insert adds a segment that is one free block.
func (a *Allocator) insert(s *segment) {
	s.blocks = []*block{{segment: s, addr: s.addr, size: s.size}}
	a.segments = append(a.segments, s)
	slices.SortFunc(a.segments, func(x, y *segment) int { return cmp.Compare(x.addr, y.addr) })
	a.reserved += s.size
}

func (a *Allocator) remove(s *segment) {
	i := slices.Index(a.segments, s)
	a.segments = slices.Delete(a.segments, i, i+1)
}

// EmptyCache gives unused memory back to the driver: whole segments, and whole
// pages of expandable ones.
func (a *Allocator) EmptyCache() {
	for _, s := range slices.Clone(a.segments) {
		if s.expandable {
			a.unmap(s)
		} else if len(s.blocks) == 1 && s.blocks[0].free() {
			a.remove(s)
			a.reserved -= s.size
			a.recorder.segment(trace.SegmentFree, s.addr, s.size, s)
		}
	}
}

// page returns the size of a page.
func (w where) page() int64 {
	if w.small {
		return smallSegment
	}
	return middleSegment
}

// heap returns where the address range of expandable segments for w begins.
func (a *Allocator) heap(w where) uint64 {
	if a.heapOf == nil {
		a.heapOf = make(map[where]uint64)
	}
	if _, ok := a.heapOf[w]; !ok {
		a.heapOf[w] = heapBase + uint64(a.heaps)*heapSize
		a.heaps++
	}
	return a.heapOf[w]
}

// expand maps just enough pages behind the first mapped range that has room,
// using the free block at its end.
func (a *Allocator) expand(w where, size int64) *block {
	at, tail := a.heap(w), (*block)(nil)
	var before *segment
	for _, s := range a.segments {
		if !s.expandable || s.where != w {
			continue
		}
		if int64(s.addr-at) >= ceil(size-tail.spare(), w.page()) {
			break
		}
		at, before = s.end(), s
		tail = s.blocks[len(s.blocks)-1]
	}
	mapped := ceil(size-tail.spare(), w.page())
	if a.reserved+mapped > a.capacity {
		return nil
	}
	s := &segment{where: w, addr: at, size: mapped, expandable: true, stack: a.recorder.stack}
	a.insert(s)
	a.recorder.segment(trace.SegmentMap, at, mapped, s)
	b := s.blocks[0]
	if before != nil && before.end() == at {
		b = a.join(before, s)
		s = before
	}
	if next := a.after(s); next != nil {
		a.join(s, next)
	}
	return b
}

// spare returns how much a block adds to the memory mapped behind it.
func (b *block) spare() int64 {
	if b == nil || !b.free() {
		return 0
	}
	return b.size
}

// after returns the expandable segment of the same kind that begins where s
// ends.
func (a *Allocator) after(s *segment) *segment {
	for _, next := range a.segments {
		if next.addr == s.end() && next.expandable && next.where == s.where {
			return next
		}
	}
	return nil
}

// join puts the second of two touching segments into the first and returns the
// free block at the seam.
func (a *Allocator) join(first, second *segment) *block {
	a.remove(second)
	first.size += second.size
	b := second.blocks[0]
	last := first.blocks[len(first.blocks)-1]
	for _, moved := range second.blocks {
		moved.segment = first
	}
	first.blocks = append(first.blocks, second.blocks...)
	if !last.free() || !b.free() {
		return b
	}
	last.size += b.size
	first.blocks = slices.DeleteFunc(first.blocks, func(x *block) bool { return x == b })
	return last
}

// unmap gives back the whole pages inside the free blocks of an expandable
// segment, which may leave several segments.
func (a *Allocator) unmap(s *segment) {
	for _, b := range slices.Clone(s.blocks) {
		heap, page := a.heap(s.where), uint64(s.page())
		from := heap + (b.addr-heap+page-1)/page*page
		to := heap + (b.addr+uint64(b.size)-heap)/page*page
		if b.free() && from < to {
			s = a.cut(s, b, from, to)
		}
	}
}

// cut takes a range inside a free block out of s and returns the segment
// behind it, or s when nothing is left behind.
func (a *Allocator) cut(s *segment, b *block, from, to uint64) *segment {
	a.recorder.segment(trace.SegmentUnmap, from, int64(to-from), s)
	a.reserved -= int64(to - from)
	i, end := slices.Index(s.blocks, b), b.addr+uint64(b.size)
	rest := &segment{where: s.where, addr: to, size: int64(s.end() - to), expandable: true, stack: s.stack}
	if to < end {
		rest.blocks = append(rest.blocks, &block{addr: to, size: int64(end - to)})
	}
	rest.blocks = append(rest.blocks, s.blocks[i+1:]...)
	for _, moved := range rest.blocks {
		moved.segment = rest
	}
	s.blocks = s.blocks[:i:i]
	if b.addr < from {
		b.size = int64(from - b.addr)
		s.blocks = append(s.blocks, b)
	}
	s.size = int64(from - s.addr)
	if s.size == 0 {
		a.remove(s)
	}
	if rest.size == 0 {
		return s
	}
	a.segments = append(a.segments, rest)
	slices.SortFunc(a.segments, func(x, y *segment) int { return cmp.Compare(x.addr, y.addr) })
	return rest
}
