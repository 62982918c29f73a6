package alloc

import (
	"math/bits"
	"slices"
)

// freeSet holds the free blocks of a pool in the order in which PyTorch looks
// at them: by stream, then size, then address.
//
// Each stream has a list of short sorted runs, so that finding, putting and
// taking cost two binary searches and the moving of at most one run: about 20
// ns with a thousand blocks, where a single sorted slice moves 12 KB.
type freeSet struct {
	streams []*streamSet // ascending handles
}

type streamSet struct {
	stream Stream
	runs   [][]freeEntry // none is empty
	spare  []freeEntry   // an emptied run, for the next one needed
}

// freeEntry has the sort key beside the block, to compare without touching the
// block's memory.
type freeEntry struct {
	size  int64
	addr  uint64
	block *block
}

const runLimit = 64

// freeAt is a place in the blocks of one stream.
type freeAt struct {
	set     *streamSet
	run, at int
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

// search returns the first place not before the key, which may be past the end.
func (s *streamSet) search(size int64, addr uint64) freeAt {
	low, high := 0, len(s.runs)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if run := s.runs[middle]; run[len(run)-1].before(size, addr) != 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(s.runs) {
		return freeAt{s, low, 0}
	}
	return freeAt{s, low, searchRun(s.runs[low], size, addr)}
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
	return set.search(size, 0)
}

// block returns the block there, nil past the end.
func (p freeAt) block() *block {
	if p.set == nil || p.run == len(p.set.runs) {
		return nil
	}
	return p.set.runs[p.run][p.at].block
}

func (p freeAt) next() freeAt {
	if p.at++; p.at == len(p.set.runs[p.run]) {
		p.run, p.at = p.run+1, 0
	}
	return p
}

// add puts a block into the set.
func (f *freeSet) add(b *block) {
	set := f.ofStream(b.stream.handle)
	if set == nil {
		set = f.newStream(b.stream.handle)
	}
	p := set.search(b.size, b.addr)
	if p.run == len(set.runs) {
		if p.run == 0 {
			set.runs = append(set.runs, set.newRun())
		} else {
			p.run--
		}
		p.at = len(set.runs[p.run])
	}
	set.insert(p, freeEntry{b.size, b.addr, b})
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
	run := s.runs[p.run]
	if len(run) == runLimit {
		half := append(s.newRun(), run[runLimit/2:]...)
		clear(run[runLimit/2:])
		run = run[:runLimit/2]
		s.runs[p.run] = run
		s.runs = slices.Insert(s.runs, p.run+1, half)
		if p.at > runLimit/2 {
			p.run, p.at, run = p.run+1, p.at-runLimit/2, half
		}
	}
	run = run[:len(run)+1]
	copy(run[p.at+1:], run[p.at:])
	run[p.at] = e
	s.runs[p.run] = run
}

// find returns where a block of the set is.
func (f *freeSet) find(b *block) freeAt {
	p := f.ofStream(b.stream.handle).search(b.size, b.addr)
	if p.block() != b {
		panic("alloc: a free block is not in its pool")
	}
	return p
}

// remove takes a block out of the set.
func (f *freeSet) remove(b *block) { f.removeAt(f.find(b)) }

// replace puts a block, of the same stream, where another has its place. Mostly
// its key belongs to the same run, and only the entries between the two places
// are moved: this is how a block shrinks and grows at half the cost of taking
// it out and putting it back.
func (f *freeSet) replace(p freeAt, b *block) {
	run := p.set.runs[p.run]
	at := searchRun(run, b.size, b.addr)
	switch {
	case at == 0 && p.run > 0, at == len(run) && p.run+1 < len(p.set.runs):
		f.removeAt(p)
		f.add(b)
		return
	case at > p.at:
		at--
		copy(run[p.at:at], run[p.at+1:at+1])
	default:
		copy(run[at+1:p.at+1], run[at:p.at])
	}
	run[at] = freeEntry{b.size, b.addr, b}
}

func (f *freeSet) removeAt(p freeAt) {
	run := p.set.runs[p.run]
	copy(run[p.at:], run[p.at+1:])
	run[len(run)-1] = freeEntry{}
	run = run[:len(run)-1]
	p.set.runs[p.run] = run
	if len(run) == 0 {
		p.set.spare = run
		p.set.runs = slices.Delete(p.set.runs, p.run, p.run+1)
	}
}

func (s *streamSet) newRun() []freeEntry {
	if run := s.spare; run != nil {
		s.spare = nil
		return run
	}
	return make([]freeEntry, 0, runLimit)
}

// all returns the blocks in order, in a list that the caller owns.
func (f *freeSet) all() []*block {
	var list []*block
	for _, set := range f.streams {
		for _, run := range set.runs {
			for i := range run {
				list = append(list, run[i].block)
			}
		}
	}
	return list
}

// largestBelow returns the stream's blocks of less than size bytes, the largest
// first, in a list that the caller owns.
func (f *freeSet) largestBelow(s Stream, size int64) []*block {
	at := f.first(s, size)
	if at.set == nil {
		return nil
	}
	var list []*block
	for run := range at.set.runs {
		for i := range at.set.runs[run] {
			if run == at.run && i == at.at {
				slices.Reverse(list)
				return list
			}
			list = append(list, at.set.runs[run][i].block)
		}
	}
	slices.Reverse(list)
	return list
}
