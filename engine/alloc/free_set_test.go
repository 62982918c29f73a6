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
		return cmp.Or(cmp.Compare(x.set.stream.handle, y.set.stream.handle), cmp.Compare(x.size, y.size), cmp.Compare(x.addr, y.addr))
	})
}

func (n naiveSet) first(s Stream, size int64) *block {
	for _, b := range n {
		if b.set.stream.handle == s && b.size >= size {
			return b
		}
	}
	return nil
}

func (n naiveSet) largestBelow(s Stream, size int64) []*block {
	var list []*block
	for _, b := range slices.Backward(n) {
		if b.set.stream.handle == s && b.size < size {
			list = append(list, b)
		}
	}
	return list
}

func TestTheFreeSetIsASortedList(t *testing.T) {
	for name, sizes := range map[string]int64{"many sizes": 400, "few sizes, so marks": 3} {
		t.Run(name, func(t *testing.T) { changeSet(t, sizes) })
	}
}

func changeSet(t *testing.T, sizes int64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(5, 6))
	p := &pool{}
	streams := []*freeSet{p.freeOf(&stream{handle: 9}), p.freeOf(&stream{handle: 1 << 63}), p.freeOf(&stream{handle: 0})}
	var naive naiveSet
	change := func(b *block) {
		b.size = 512 * (1 + rnd.Int64N(sizes))
		b.addr = 512 * rnd.Uint64N(1<<40)
	}
	for step := range 20000 {
		switch n := rnd.IntN(10); {
		case n < 5 && len(naive) < 1000 || len(naive) == 0:
			b := &block{set: streams[rnd.IntN(len(streams))]}
			change(b)
			b.set.add(b)
			naive = append(naive, b)
		case n < 8:
			b := naive[rnd.IntN(len(naive))]
			b.set.remove(b)
			change(b)
			b.set.add(b)
		default:
			i := rnd.IntN(len(naive))
			naive[i].set.remove(naive[i])
			naive = slices.Delete(naive, i, i+1)
		}
		if step%40 == 0 {
			naive.sort()
			compareSets(t, p, naive, streams[rnd.IntN(len(streams))], 512*rnd.Int64N(sizes+2))
		}
	}
}

func compareSets(t *testing.T, p *pool, naive naiveSet, set *freeSet, size int64) {
	t.Helper()
	if got := p.allFree(); !slices.Equal(got, naive) {
		t.Fatalf("all: %d blocks, want %d, in this order", len(got), len(naive))
	}
	s := set.stream.handle
	if got, want := set.first(size), naive.first(s, size); got != want {
		t.Errorf("the first of %d bytes of stream %d: got %v, want %v", size, s, got, want)
	}
	if got, want := set.largestBelow(size), naive.largestBelow(s, size); !slices.Equal(got, want) {
		t.Errorf("those below %d bytes of stream %d: got %d, want %d", size, s, len(got), len(want))
	}
	marked := 0
	for _, b := range naive {
		if b.set == set && b.marked {
			marked++
		}
	}
	for _, marks := range set.marks {
		marked -= len(marks)
	}
	if marked != 0 {
		t.Errorf("%d more blocks of stream %d are marked than it has marks", marked, s)
	}
}
