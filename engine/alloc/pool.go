package alloc

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// poolKind says which requests a pool serves, and where its statistics go.
type poolKind uint8

const (
	allPools poolKind = iota // the sum, in statistics
	smallPool
	largePool
	poolKinds = int(iota)
)

// pool keeps the free blocks of one kind.
type pool struct {
	kind     poolKind
	order    order
	owner    *privatePool // nil for the default pools
	free     []*freeSet   // by stream, ascending handles
	unmapped []*block     // of expandable segments, by stream and address
	searches int64        // the number of searches for a free block, counted while garbage is collected
}

// id returns the pool's number in PyTorch's form.
func (p *pool) id() trace.Pool {
	if p.owner == nil {
		return trace.Pool{}
	}
	return p.owner.id
}

// mark is the tag of the events of the pool's segments. It names the pool unless
// that is the default one.
func (p *pool) mark() Tag {
	if p.owner == nil {
		return Tag{}
	}
	return Tag{event: p.owner.note}
}

// freeOf returns the pool's free blocks of a stream.
func (p *pool) freeOf(s *stream) *freeSet {
	for _, f := range p.free {
		if f.stream == s {
			return f
		}
	}
	return p.newFree(s)
}

func (p *pool) newFree(s *stream) *freeSet {
	f := newFreeSet(p, s)
	at, _ := slices.BinarySearchFunc(p.free, s.handle, func(f *freeSet, h Stream) int {
		return cmp.Compare(f.stream.handle, h)
	})
	p.free = slices.Insert(p.free, at, f)
	return f
}

// allFree returns the free blocks in order, in a list that the caller owns.
func (p *pool) allFree() []*block {
	var list []*block
	for _, f := range p.free {
		for b := f.from(0); b != nil; b = f.next(b) {
			list = append(list, b)
		}
	}
	return list
}

// ageOf returns for how many searches a block has been free.
func (p *pool) ageOf(b *block) int64 { return p.searches - b.age }

func (p *pool) addUnmapped(b *block) {
	at, _ := slices.BinarySearchFunc(p.unmapped, b, unmappedOrder)
	p.unmapped = slices.Insert(p.unmapped, at, b)
}

func (p *pool) removeUnmapped(b *block) {
	at, ok := slices.BinarySearchFunc(p.unmapped, b, unmappedOrder)
	if !ok {
		panic("alloc: an unmapped block is not in its pool")
	}
	p.unmapped = slices.Delete(p.unmapped, at, at+1)
}

func unmappedOrder(a, b *block) int {
	if c := cmp.Compare(a.set.stream.handle, b.set.stream.handle); c != 0 {
		return c
	}
	return cmp.Compare(a.addr, b.addr)
}

// poolFor returns the pool that serves a rounded request on a stream.
func (a *Allocator) poolFor(rounded int64, s *stream) *pool {
	pools := &a.pools
	if len(a.diverted) > 0 {
		if private := a.divertedTo(s.handle); private != nil {
			pools = &private.pools
		}
	}
	return pools.of(rounded)
}

// poolPair is the small and the large pool of one owner.
type poolPair struct{ small, large pool }

// of returns the pool for a rounded request.
func (p *poolPair) of(rounded int64) *pool {
	if rounded > trace.SmallLimit {
		return &p.large
	}
	return &p.small
}

func (r Rules) newPoolPair(owner *privatePool) poolPair {
	return poolPair{
		small: pool{kind: smallPool, order: r.order(), owner: owner}, large: pool{kind: largePool, order: r.order(), owner: owner},
	}
}
