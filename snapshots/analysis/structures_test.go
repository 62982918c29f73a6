package analysis

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPyramidFindsTheFirstLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var p pyramid
	var values []int64
	for range 3000 {
		from := len(values)
		if from > 0 && r.IntN(2) == 0 {
			from-- // the last value may be set again, as that of a bucket read in part
		}
		values = append(values[:from], r.Int64N(50))
		p.set(from, values[from])
		for r.IntN(3) > 0 {
			values = append(values, r.Int64N(50)-10)
			p.set(len(values)-1, values[len(values)-1])
		}
		p.build(from)
	}
	for range 3000 {
		from := r.IntN(len(values))
		to := from + 1 + r.IntN(len(values)-from)
		at, best := p.max(from, to)
		want := slices.Max(values[from:to])
		if best != want || at != from+slices.Index(values[from:to], want) {
			t.Fatalf("[%d, %d): got %d at %d, want %d at %d", from, to, best, at, want, from+slices.Index(values[from:to], want))
		}
	}
}

func TestPyramidYieldsTheTopInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var p pyramid
	values := make([]int64, 1000)
	for k := range values {
		values[k] = r.Int64N(10_000)
		p.set(k, values[k])
	}
	p.build(0)
	from, to := 137, 901
	want := slices.Clone(values[from:to])
	slices.SortFunc(want, func(a, b int64) int { return cmp.Compare(b, a) })
	var got []int64
	p.top(from, to, 40, func(k int, value int64) {
		if k < from || k >= to || values[k] != value {
			t.Errorf("yielded %d at %d", value, k)
		}
		got = append(got, value)
	})
	if !slices.Equal(got, want[:40]) {
		t.Errorf("got %v, want %v", got, want[:40])
	}
}

func TestSortByKeyIsStable(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 1000} {
		items := make([]keyed, n)
		for i := range items {
			items[i] = keyed{r.Uint64() >> (8 * r.IntN(8)), int32(i)}
			if r.IntN(3) == 0 {
				items[i].key = 42
			}
		}
		want := slices.Clone(items)
		slices.SortStableFunc(want, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
		if got := sortByKey(items); !slices.Equal(got, want) {
			t.Errorf("%d items are not in order", n)
		}
	}
}
