package alloc

import "github.com/memtop/memtop/snapshots/trace"

// Allocation is memory that an [Allocator] allocated: a small value that may be
// copied freely. It is valid until it is freed. Using a freed one panics, even
// when its memory has been allocated again: the caller would write into memory of
// another owner. The zero Allocation is no memory; a request of 0 bytes returns
// it.
type Allocation struct {
	b      *block
	serial uint64
}

// Addr returns the address of the first byte, 0 for the zero Allocation.
func (b Allocation) Addr() uint64 {
	if b.b == nil {
		return 0
	}
	return b.live("Addr of").addr
}

// Requested returns how many bytes were asked for.
func (b Allocation) Requested() int64 {
	if b.b == nil {
		return 0
	}
	return b.live("Requested of").requested
}

// block is a piece of a segment, or of the reserved addresses of an expandable
// one. The pieces of a segment are linked in order of address and have no gaps
// between them.
//
// A block's address, size, stream, requested bytes and serial do not change while
// it is allocated, so that its owner may read them without the lock.
//
// The allocator reads only the first eight words of a neighbour: one cache line.
type block struct {
	addr       uint64
	size       int64
	prev, next *block
	slot       **block // the link to it in its list of free blocks
	after      *block  // the next free block in that list
	place      uint64  // its place among free blocks of its size, see order
	events     int32   // of other streams, not known to have happened yet
	state      blockState
	marked     bool // among the free blocks, see freeSet
	expandable bool // its segment is expandable

	set       *freeSet // its pool and stream
	segment   *segment
	born      uint64 // the count of blocks when this one was made
	serial    uint64
	requested int64 // stale when the block is free, as in PyTorch
	tag       Tag
	stack     trace.StackID // where it was allocated
	age       int64         // the pool's count of searches when it became free
	uses      *[]*stream    // other streams that used it since it was allocated; nil for none
	captured  []*stream     // those of them that used it in a capture
}

// blockState is the current state of a block.
type blockState uint8

const (
	stateFree      blockState = iota
	stateUnmapped             // free addresses without memory, in expandable segments only
	statePending              // freed while other streams may use it
	stateAllocated            // handed out
)

// inUse reports whether the block is allocated or pending.
func (b *block) inUse() bool { return b.state >= statePending }

func (b *block) mapped() bool { return b.state != stateUnmapped }

func (b *block) allocated() bool { return b.state == stateAllocated }

// segment is memory obtained from the driver in one call, or the reserved
// addresses of an expandable segment.
type segment struct {
	addr       uint64
	size       int64
	page       int64 // unit of mapping; 0 when not expandable
	first      *block
	stack      trace.StackID
	expandable bool
	number     uint64 // the count of segments when this one was made
}

func (b *block) split() bool { return b.prev != nil || b.next != nil }

func (b *block) end() uint64 { return b.addr + uint64(b.size) }

// pending reports whether the block was freed but may still be in use by
// another stream.
func (b *block) pending() bool { return b.state == statePending }

// link puts b between two neighbours, either of which may be nil.
func (b *block) link(prev, next *block) {
	b.prev, b.next = prev, next
	if prev != nil {
		prev.next = b
	} else {
		b.segment.first = b
	}
	if next != nil {
		next.prev = b
	}
}

// newBlock returns an unlinked, free block. It reuses an old struct if there is
// one, so that a split and the merge that undoes it make no garbage.
func (a *Allocator) newBlock(s *segment, set *freeSet, addr uint64, size int64) *block {
	var b *block
	if n := len(a.unused); n > 0 {
		b, a.unused = a.unused[n-1], a.unused[:n-1]
		*b = block{uses: b.uses}
	} else {
		b = &block{}
	}
	a.born++
	b.addr, b.size, b.segment, b.set, b.expandable, b.born = addr, size, s, set, s.expandable, a.born
	return b
}

// recycle keeps a block that is in no list for reuse by newBlock. Its serial is 0
// already, so that handles of its former owners are refused.
func (a *Allocator) recycle(b *block) { a.unused = append(a.unused, b) }

// live returns the block behind a handle. A handle of a freed block is a bug in
// the caller.
func (b Allocation) live(doing string) *block {
	if b.serial != b.b.serial {
		panic("alloc: " + doing + " a block that was freed")
	}
	return b.b
}
