package alloc

import (
	"math/bits"
	"slices"
)

// # Free blocks
//
// A pool's free blocks are looked at in PyTorch's order: by stream, then size, then
// address. A stream has bins by size, so narrow that most hold a block or two, and a bit
// for each that holds any: the smallest block that is large enough is found by counting
// bits. What many blocks share, because all are of one size, is kept as short sorted
// runs, so that putting and taking never move more than one of those.

// freeSet holds the free blocks of a pool.
type freeSet struct {
	streams []*streamSet // ascending handles
}

type streamSet struct {
	stream Stream
	used   []uint64 // a bit for each bin that is not empty
	bins   []bin
}

// bin holds the blocks of a range of sizes, by size and address: a run, and the runs
// that follow it.
type bin struct {
	run  []freeEntry
	more [][]freeEntry // none is empty
}

// freeEntry has the sort key beside the block, to compare without touching the
// block's memory.
type freeEntry struct {
	size  int64
	addr  uint64
	block *block
}

const (
	runLimit = 64
	firstRun = 4 // entries that a bin has room for at first

	// A bin is for one multiple of minBlock below 1<<binBits of them; from there on
	// each power of two has that many bins.
	binBits = 5
	perWord = 64
)

// binOf returns the bin of a size. Larger sizes are in later bins.
func binOf(size int64) int {
	units := uint64(size) / minBlock
	shift := max(bits.Len64(units)-1-binBits, 0)
	return shift<<binBits + int(units>>shift)
}

// freeAt is a place in the blocks of one stream.
type freeAt struct {
	set          *streamSet
	bin, run, at int32
}

// before returns 1 if the entry comes before the key, and 0 if not. With a number
// a search needs no branches that depend on the keys, half of which would be
// predicted wrongly.
func (e *freeEntry) before(size int64, addr uint64) int {
	_, less := bits.Sub64(e.addr, addr, 0)
	_, less = bits.Sub64(uint64(e.size), uint64(size), less)
	return int(less)
}

// ofStream returns the blocks of a stream, nil when it never had any.
func (f *freeSet) ofStream(s Stream) *streamSet {
	for _, set := range f.streams {
		if set.stream == s {
			return set
		}
	}
	return nil
}

// runs returns how many runs a bin has, one of which may be empty.
func (b *bin) runs() int { return 1 + len(b.more) }

func (b *bin) at(run int) *[]freeEntry {
	if run == 0 {
		return &b.run
	}
	return &b.more[run-1]
}

// search returns the first place of a bin that is not before the key, which may be past
// its end, after the last entry.
func (s *streamSet) search(at int, size int64, addr uint64) freeAt {
	b := &s.bins[at]
	low, high := 0, len(b.more)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if run := *b.at(middle); run[len(run)-1].before(size, addr) != 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return freeAt{s, int32(at), int32(low), int32(searchRun(*b.at(low), size, addr))}
}

// searchRun returns the first entry of a run not before the key, or its length.
func searchRun(run []freeEntry, size int64, addr uint64) int {
	at, left := 0, len(run)
	for left > 0 {
		half := (left + 1) >> 1
		at += half & -run[at+half-1].before(size, addr)
		left >>= 1
	}
	return at
}

// first returns the smallest block of the stream with at least size bytes, past
// the end if there is none.
func (f *freeSet) first(s Stream, size int64) freeAt {
	set := f.ofStream(s)
	if set == nil {
		return freeAt{}
	}
	at := binOf(size)
	if at >= len(set.bins) {
		return set.from(at)
	}
	p := set.search(at, size, 0)
	if int(p.at) == len(*p.entries()) {
		return set.from(at + 1)
	}
	return p
}

// from returns the first block of the bins from one on.
func (s *streamSet) from(at int) freeAt {
	word := at / perWord
	if word >= len(s.used) {
		return s.end()
	}
	left := s.used[word] >> (at % perWord) << (at % perWord)
	for left == 0 {
		if word++; word == len(s.used) {
			return s.end()
		}
		left = s.used[word]
	}
	return freeAt{set: s, bin: int32(word*perWord + bits.TrailingZeros64(left))}
}

func (s *streamSet) end() freeAt { return freeAt{set: s, bin: int32(len(s.bins))} }

// entries returns the run that a place is in.
func (p freeAt) entries() *[]freeEntry { return p.set.bins[p.bin].at(int(p.run)) }

// block returns the block there, nil past the end.
func (p freeAt) block() *block {
	if p.set == nil || int(p.bin) == len(p.set.bins) {
		return nil
	}
	return (*p.entries())[p.at].block
}

func (p freeAt) next() freeAt {
	if p.at++; int(p.at) < len(*p.entries()) {
		return p
	}
	if p.at, p.run = 0, p.run+1; int(p.run) < p.set.bins[p.bin].runs() {
		return p
	}
	return p.set.from(int(p.bin) + 1)
}

// add puts a block into the set.
func (f *freeSet) add(b *block) {
	set := f.ofStream(b.stream.handle)
	if set == nil {
		set = f.newStream(b.stream.handle)
	}
	at := binOf(b.size)
	if at >= len(set.bins) {
		set.grow(at)
	}
	set.used[at/perWord] |= 1 << (at % perWord)
	set.insert(set.search(at, b.size, b.addr), freeEntry{b.size, b.addr, b})
}

// grow makes bins up to one, and those of its word.
func (s *streamSet) grow(at int) {
	words := at/perWord + 1
	s.used = append(s.used, make([]uint64, words-len(s.used))...)
	s.bins = append(s.bins, make([]bin, words*perWord-len(s.bins))...)
}

func (f *freeSet) newStream(s Stream) *streamSet {
	set := &streamSet{stream: s}
	at := 0
	for at < len(f.streams) && f.streams[at].stream < s {
		at++
	}
	f.streams = slices.Insert(f.streams, at, set)
	return set
}

func (s *streamSet) insert(p freeAt, e freeEntry) {
	run := p.entries()
	if len(*run) == runLimit {
		half := slices.Clone((*run)[runLimit/2:])
		clear((*run)[runLimit/2:])
		*run = (*run)[:runLimit/2]
		b := &s.bins[p.bin]
		b.more = slices.Insert(b.more, int(p.run), half)
		if p.at > runLimit/2 {
			p.run, p.at = p.run+1, p.at-runLimit/2
		}
		run = p.entries()
	}
	if cap(*run) == 0 {
		*run = make([]freeEntry, 0, firstRun)
	}
	*run = append(*run, freeEntry{})
	entries := *run
	for at := len(entries) - 1; at > int(p.at); at-- {
		entries[at] = entries[at-1]
	}
	entries[p.at] = e
}

// find returns where a block of the set is.
func (f *freeSet) find(b *block) freeAt {
	p := f.ofStream(b.stream.handle).search(binOf(b.size), b.size, b.addr)
	if entries := *p.entries(); int(p.at) == len(entries) || entries[p.at].block != b {
		panic("alloc: a free block is not in its pool")
	}
	return p
}

// remove takes a block out of the set.
func (f *freeSet) remove(b *block) { f.removeAt(f.find(b)) }

// replace puts a block, of the same stream, where another has its place.
func (f *freeSet) replace(p freeAt, b *block) {
	f.removeAt(p)
	f.add(b)
}

func (f *freeSet) removeAt(p freeAt) {
	run := p.entries()
	entries := *run
	last := len(entries) - 1
	for at := int(p.at); at < last; at++ {
		entries[at] = entries[at+1]
	}
	entries[last] = freeEntry{}
	*run = entries[:last]
	if last == 0 {
		p.set.emptied(p)
	}
}

// emptied takes out a run that has become empty, or marks its bin as empty.
func (s *streamSet) emptied(p freeAt) {
	b := &s.bins[p.bin]
	switch {
	case p.run > 0:
		b.more = slices.Delete(b.more, int(p.run)-1, int(p.run))
	case len(b.more) > 0:
		b.run = b.more[0]
		b.more = slices.Delete(b.more, 0, 1)
	default:
		s.used[p.bin/perWord] &^= 1 << (p.bin % perWord)
	}
}

// all returns the blocks in order, in a list that the caller owns.
func (f *freeSet) all() []*block {
	var list []*block
	for _, set := range f.streams {
		for p := set.from(0); p.block() != nil; p = p.next() {
			list = append(list, p.block())
		}
	}
	return list
}

// largestBelow returns the stream's blocks of less than size bytes, the largest
// first, in a list that the caller owns.
func (f *freeSet) largestBelow(s Stream, size int64) []*block {
	set := f.ofStream(s)
	if set == nil {
		return nil
	}
	var list []*block
	for p := set.from(0); p.block() != nil && p.block().size < size; p = p.next() {
		list = append(list, p.block())
	}
	slices.Reverse(list)
	return list
}
