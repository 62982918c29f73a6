package alloc

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// naiveSet is what a freeSet must be: a sorted list.
type naiveSet []*block

func (n naiveSet) sort() {
	slices.SortFunc(n, func(x, y *block) int {
		return cmp.Or(cmp.Compare(x.stream.handle, y.stream.handle), cmp.Compare(x.size, y.size), cmp.Compare(x.addr, y.addr))
	})
}

func (n naiveSet) first(s Stream, size int64) *block {
	for _, b := range n {
		if b.stream.handle == s && b.size >= size {
			return b
		}
	}
	return nil
}

func (n naiveSet) largestBelow(s Stream, size int64) []*block {
	var list []*block
	for _, b := range slices.Backward(n) {
		if b.stream.handle == s && b.size < size {
			list = append(list, b)
		}
	}
	return list
}

func TestTheFreeSetIsASortedList(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	streams := []*stream{{handle: 9}, {handle: 1 << 63}, {handle: 0}}
	var set freeSet
	var naive naiveSet
	change := func(b *block) {
		b.size = 512 * (1 + rnd.Int64N(40))
		b.addr = 512 * rnd.Uint64N(1<<40)
	}
	for step := range 20000 {
		switch n := rnd.IntN(10); {
		case n < 5 && len(naive) < 600 || len(naive) == 0:
			b := &block{stream: streams[rnd.IntN(len(streams))]}
			change(b)
			set.add(b)
			naive = append(naive, b)
		case n < 8:
			b := naive[rnd.IntN(len(naive))]
			place := set.find(b)
			change(b)
			set.replace(place, b)
		default:
			i := rnd.IntN(len(naive))
			set.remove(naive[i])
			naive = slices.Delete(naive, i, i+1)
		}
		if step%40 == 0 {
			naive.sort()
			compareSets(t, &set, naive, streams[rnd.IntN(len(streams))].handle, 512*rnd.Int64N(42))
		}
	}
}

func compareSets(t *testing.T, set *freeSet, naive naiveSet, s Stream, size int64) {
	t.Helper()
	if got := set.all(); !slices.Equal(got, naive) {
		t.Fatalf("all: %d blocks, want %d, in this order", len(got), len(naive))
	}
	if got, want := set.first(s, size).block(), naive.first(s, size); got != want {
		t.Errorf("the first of %d bytes of stream %d: got %v, want %v", size, s, got, want)
	}
	if got, want := set.largestBelow(s, size), naive.largestBelow(s, size); !slices.Equal(got, want) {
		t.Errorf("those below %d bytes of stream %d: got %d, want %d", size, s, len(got), len(want))
	}
	at, count := set.first(s, 0), 0
	for ; at.block() != nil; at = at.next() {
		count++
	}
	if want := len(naive.largestBelow(s, unlimited)); count != want {
		t.Errorf("a walk meets %d blocks of stream %d, want %d", count, s, want)
	}
}
