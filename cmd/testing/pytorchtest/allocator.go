package pytorchtest

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// The allocator's constants, in bytes.
const (
	unit          = 512
	smallRequest  = 1 << 20
	smallSegment  = 2 << 20
	middleSegment = 20 << 20
	ownSegment    = 10 << 20
	largeRound    = 2 << 20
)

// where holds the properties that a free block must share with a request.
type where struct {
	pool   trace.Pool
	stream uint64
	small  bool
}

// block is a piece of a segment. A block that is not live and not pending is
// free.
type block struct {
	segment   *segment
	addr      uint64
	size      int64
	requested int64
	live      bool
	pending   bool
	stack     trace.StackID
	note      trace.NoteID
}

func (b *block) free() bool { return !b.live && !b.pending }

type segment struct {
	where
	addr       uint64
	size       int64
	expandable bool
	stack      trace.StackID
	blocks     []*block
}

func (s *segment) end() uint64 { return s.addr + uint64(s.size) }

// Allocator simulates PyTorch's caching allocator on one device and records a
// trace of it. It follows the same rules: sizes are rounded, requests served
// from the smallest block that fits, blocks split and merged, segments cut off
// a device of limited size. It is plain rather than fast.
type Allocator struct {
	// Expandable makes new segments expandable ones.
	Expandable bool

	recorder *recorder
	device   int
	capacity int64
	reserved int64
	segments []*segment
	heaps    int              // expandable address ranges handed out
	heapOf   map[where]uint64 // their first addresses
}

// ceil rounds up to a multiple.
func ceil(n, multiple int64) int64 { return (n + multiple - 1) / multiple * multiple }

func roundSize(n int64) int64 { return max(unit, ceil(n, unit)) }

func segmentSize(rounded int64) int64 {
	switch {
	case rounded <= smallRequest:
		return smallSegment
	case rounded < ownSegment:
		return middleSegment
	default:
		return ceil(rounded, largeRound)
	}
}

// malloc returns a block for n bytes, or nil when the device is full.
func (a *Allocator) malloc(n int64, pool trace.Pool, stream uint64) *block {
	r := roundSize(n)
	w := where{pool, stream, r <= smallRequest}
	b := a.find(w, r)
	for attempt := 0; b == nil && attempt < 2; attempt++ {
		if a.Expandable {
			b = a.expand(w, r)
		} else {
			b = a.newSegment(w, segmentSize(r))
		}
		if b == nil && attempt == 0 {
			a.EmptyCache()
		}
	}
	if b == nil {
		a.recorder.oom(a.capacity-a.reserved, segmentSize(r), stream)
		return nil
	}
	b.split(r)
	b.live, b.requested = true, n
	a.recorder.alloc(b)
	return b
}

// find returns the smallest free block that serves the request.
func (a *Allocator) find(w where, size int64) *block {
	var best *block
	for _, s := range a.segments {
		if s.where != w || s.expandable != a.Expandable {
			continue
		}
		for _, b := range s.blocks {
			if b.free() && b.size >= size && (best == nil || b.size < best.size) {
				best = b
			}
		}
	}
	return best
}

// split cuts b after its first size bytes, if PyTorch's allocator would.
func (b *block) split(size int64) {
	s := b.segment
	rest := b.size - size
	if rest < unit || !s.small && !s.expandable && rest <= smallRequest {
		return
	}
	tail := &block{segment: s, addr: b.addr + uint64(size), size: rest}
	b.size = size
	s.blocks = slices.Insert(s.blocks, slices.Index(s.blocks, b)+1, tail)
}

// request frees b as the program does. A block that another stream still uses
// stays pending until complete is called.
func (a *Allocator) request(b *block, inUse bool) {
	b.live, b.pending = false, true
	a.recorder.freeRequested(b)
	if !inUse {
		a.complete(b)
	}
}

// complete makes a pending block free and joins it with its neighbours.
func (a *Allocator) complete(b *block) {
	a.recorder.freeCompleted(b)
	b.pending = false
	b.stack, b.note = 0, 0
	b.segment.merge(b)
}

func (s *segment) merge(b *block) {
	i := slices.Index(s.blocks, b)
	if i+1 < len(s.blocks) && s.blocks[i+1].free() {
		b.size += s.blocks[i+1].size
		s.blocks = slices.Delete(s.blocks, i+1, i+2)
	}
	if i > 0 && s.blocks[i-1].free() {
		s.blocks[i-1].size += b.size
		s.blocks = slices.Delete(s.blocks, i, i+1)
	}
}

// live returns the blocks that are in use, in ascending order.
func (a *Allocator) live(is func(*block) bool) []*block {
	var all []*block
	for _, s := range a.segments {
		for _, b := range s.blocks {
			if is(b) {
				all = append(all, b)
			}
		}
	}
	return all
}
