package growing_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis/growing"
)

// mostRuns is how many runs a search takes at most if the law is right, with the first
// and the last value among them.
func mostRuns(values int) int { return bits.Len(uint(values-1)) + 3 }

func TestASearchFindsTheLargestInFewRuns(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 64, 100, 1000} {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(3*i + 2)
		}
		for fit := 0; fit <= n; fit += max(1, n/50) {
			for name, law := range map[string]struct{ low, high, most int }{
				"right":   {fit, fit, mostRuns(n)},
				"near":    {max(0, fit-n/10), min(n, fit+n/10), mostRuns(n)},
				"missing": {0, n, mostRuns(n)},
				"wrong":   {n - fit, n - fit/2, 2 * mostRuns(n)},
			} {
				t.Run(fmt.Sprintf("%d of %d with a law that is %s", fit, n, name), func(t *testing.T) {
					s := growing.NewSearch(values)
					runs := 0
					say := func(value int64) { s.Say(value, value < int64(3*fit+2)); runs++ }
					say(values[0])
					if n > 1 {
						say(values[n-1])
					}
					for value, more := s.Next(law.low, law.high); more; value, more = s.Next(law.low, law.high) {
						say(value)
					}
					largest, found, done := s.Done()
					if !done || found != (fit > 0) || found && largest != values[fit-1] {
						t.Errorf("found %d %v %v", largest, found, done)
					}
					if runs > law.most {
						t.Errorf("it took %d runs, want at most %d", runs, law.most)
					}
					if name == "right" && runs > 4 {
						t.Errorf("with a right law it took %d runs", runs)
					}
				})
			}
		}
	}
}

func TestALawIsTheSimplestThatHolds(t *testing.T) {
	for name, test := range map[string]struct {
		of   func(v int64) int64
		want growing.Kind
	}{
		"parameters":               {func(int64) int64 { return 500 << 20 }, growing.Constant},
		"activations of a batch":   {func(v int64) int64 { return 3<<20 + v*(7<<20) }, growing.Linear},
		"scores of attention":      {func(v int64) int64 { return v * v * 12 * 2048 }, growing.Square},
		"both":                     {func(v int64) int64 { return 1<<30 + v*(1<<20) + v*v<<20 }, growing.Square},
		"a cube":                   {func(v int64) int64 { return v * v * v << 20 }, growing.Other},
		"rounded to 2 MiB, a line": {func(v int64) int64 { return (v*(100<<20) + 12345) &^ (2<<20 - 1) }, growing.Linear},
	} {
		t.Run(name, func(t *testing.T) {
			var points []growing.Point
			for _, v := range []int64{64, 1, 32, 48} {
				points = append(points, growing.Point{Value: v, Bytes: test.of(v)})
			}
			law := growing.Fit(points)
			if law.Kind != test.want {
				t.Fatalf("it is %v, want %v", law.Kind, test.want)
			}
			if want, got := test.of(57), law.At(57); law.Kind != growing.Other && float64(got-want) > 0.005*float64(want)+(64<<10) {
				t.Errorf("it says %d of a value it has not seen, want %d", got, want)
			}
		})
	}
	moved := []growing.Point{{Value: 1, Bytes: 1 << 30}, {Value: 32, Bytes: 1<<30 + 1<<20}, {Value: 64, Bytes: 3 << 30}}
	if got := growing.Fit(moved); got.Kind != growing.Other {
		t.Errorf("a peak that moves is %v by three points", got)
	}
	if got := growing.Fit(nil); got.Kind != growing.Other {
		t.Errorf("without points it is %v", got)
	}
}
