package analysis

import (
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
