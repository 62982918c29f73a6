package alloc

import (
	"math"
	"math/bits"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Free blocks
//
// The allocator searches a pool's free blocks in PyTorch's order: by stream, then
// size, then address. A stream has bins by size, so narrow that most hold a block
// or two. A bitmap says which bins are not empty, so counting bits finds the
// smallest block that is large enough. The blocks of a bin are a linked list in
// that order, so that removing one needs no search. Most blocks are added near
// the front, because blocks are taken from the front. If many blocks have the
// same size, some of them are marked as starting points for a search.

// freeSet holds the free blocks of one stream in one pool.
type freeSet struct {
	pool   *pool
	stream *stream
	used   [binCount / perWord]uint64 // a bit for each bin that is not empty
	bins   [binCount]*block           // the first block of each
	end    block                      // follows the last block of each bin, and comes after every key
	marks  map[uint][]*block          // by bin, in order
}

const (
	// Each multiple of trace.MinBlock below 1<<binBits of them has its own bin; above,
	// each power of two has that many bins. There are enough bins for 63 bits.
	binBits  = 5
	binCount = (63 - 9 + 1 - binBits) << binBits
	perWord  = 64

	// nearby is how many blocks of a bin a search passes before it looks for a mark,
	// and how many lie between two marks when they are made.
	nearby = 32
)

// binOf returns the bin of a size. Larger sizes are in later bins.
func binOf(size int64) uint {
	units := uint64(size) / trace.MinBlock
	shift := uint(bits.Len64(units>>binBits|1)-1) % 64
	return shift<<binBits + uint(units>>shift)
}

// before reports whether the block comes before a key. It makes one comparison,
// not one of the sizes and one of the addresses: the processor would often
// mispredict both branches.
func (b *block) before(size int64, place uint64) bool {
	_, less := bits.Sub64(b.place, place, 0)
	_, less = bits.Sub64(uint64(b.size), uint64(size), less)
	return less != 0
}

// newFreeSet returns an empty set.
func newFreeSet(p *pool, s *stream) *freeSet {
	f := &freeSet{pool: p, stream: s, end: block{size: math.MaxInt64, place: 1<<64 - 1}}
	for i := range f.bins {
		f.bins[i] = &f.end
	}
	return f
}

// first returns the smallest block with at least size bytes, nil if there is none.
func (f *freeSet) first(size int64) *block {
	at := binOf(size)
	b := f.from(at)
	if b != nil && b.size < size { // so b is in the bin of size
		if b = *f.search(at, size, 0); b == &f.end {
			return f.from(at + 1)
		}
	}
	return b
}

// from returns the first block of the bins from one on, nil if there is none.
func (f *freeSet) from(at uint) *block {
	word := at / perWord
	if word >= uint(len(f.used)) {
		return nil
	}
	left := f.used[word] >> (at % perWord) << (at % perWord)
	for left == 0 {
		if word++; word == uint(len(f.used)) {
			return nil
		}
		left = f.used[word]
	}
	return f.bins[word*perWord+uint(bits.TrailingZeros64(left))]
}

// next returns the block after one of the set, nil if there is none.
func (f *freeSet) next(b *block) *block {
	if b.after != &f.end {
		return b.after
	}
	return f.from(binOf(b.size) + 1)
}

// search returns the link of a bin to its first block that is not before the key.
// That may be the end.
func (f *freeSet) search(at uint, size int64, place uint64) **block {
	link := &f.bins[at]
	for passed := 0; (*link).before(size, place); passed++ {
		if passed == nearby {
			return f.searchFar(at, size, place)
		}
		link = &(*link).after
	}
	return link
}

// searchFar is search from the last mark before the key. If that mark is far away
// it makes more marks, so that no search passes the same part of a bin again
// without marks.
func (f *freeSet) searchFar(at uint, size int64, place uint64) **block {
	mark, link := f.lastMark(at, size, place), &f.bins[at]
	if mark > 0 {
		link = &f.marks[at][mark-1].after
	}
	for passed := 1; (*link).before(size, place); passed++ {
		if passed%nearby == 0 {
			f.mark(at, mark, *link)
			mark++
		}
		link = &(*link).after
	}
	return link
}

// lastMark returns how many of a bin's marks are before the key.
func (f *freeSet) lastMark(at uint, size int64, place uint64) int {
	n, _ := slices.BinarySearchFunc(f.marks[at], true, func(b *block, _ bool) int {
		if b.before(size, place) {
			return -1
		}
		return 0
	})
	return n
}

func (f *freeSet) mark(at uint, n int, b *block) {
	if f.marks == nil {
		f.marks = make(map[uint][]*block)
	}
	b.marked = true
	f.marks[at] = slices.Insert(f.marks[at], n, b)
}

func (f *freeSet) unmark(at uint, b *block) {
	n := f.lastMark(at, b.size, b.place)
	b.marked = false
	f.marks[at] = slices.Delete(f.marks[at], n, n+1)
}

// add puts a block into its set, at age 0.
func (f *freeSet) add(b *block) {
	at := binOf(b.size)
	b.place = f.pool.order.place(b)
	link := f.search(at, b.size, b.place)
	after := *link
	b.slot, b.after = link, after
	after.slot = &b.after
	*link = b
	f.used[at/perWord] |= 1 << (at % perWord)
	b.age = f.pool.searches
}

// remove takes a block out of the set. Its size and address must not have changed
// since it was added.
func (f *freeSet) remove(b *block) {
	at := binOf(b.size)
	if b.marked {
		f.unmark(at, b)
	}
	*b.slot = b.after
	b.after.slot = b.slot
	b.slot, b.after = nil, nil
	empty := uint64(0)
	if f.bins[at] == &f.end {
		empty = 1
	}
	f.used[at/perWord] &^= empty << (at % perWord)
}

// largestBelow returns the blocks smaller than size, the largest first, in a list
// that the caller owns.
func (f *freeSet) largestBelow(size int64) []*block {
	var list []*block
	for b := f.from(0); b != nil && b.size < size; b = f.next(b) {
		list = append(list, b)
	}
	slices.Reverse(list)
	return list
}
