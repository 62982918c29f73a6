package leak

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// trends tells from which moment on a site has which trend, when so many of its
// tensors are left after each of the moments.
func trends(category trace.Category, counts []int) string {
	var changes []string
	last := Trend(255)
	for n := 1; n <= len(counts); n++ {
		e := evidence{category: category}
		for k, count := range counts[:n] {
			e.samples = append(e.samples, sample{Level: Level{Count: count, Bytes: int64(count) << 10, Step: int64(k)}})
		}
		if j := e.judge(); j.Trend != last {
			last = j.Trend
			changes = append(changes, fmt.Sprintf("%d %s", n, last))
		}
	}
	return strings.Join(changes, ", ")
}

// counted returns the counts after 60 moments, of which those that grow leave one
// more tensor than the one before.
func counted(grows func(k int) bool) []int {
	counts := make([]int, 60)
	for k := 1; k < len(counts); k++ {
		if counts[k] = counts[k-1]; grows(k) {
			counts[k]++
		}
	}
	return counts
}

// TestHowLongEachVerdictTakes has a number for each of the constants of trend.go:
// the moments from which a trend is seen.
func TestHowLongEachVerdictTakes(t *testing.T) {
	always := func(int) bool { return true }
	until := func(last int) func(k int) bool { return func(k int) bool { return k <= last } }
	every := func(gap int) func(k int) bool { return func(k int) bool { return k%gap == 0 } }
	slower := func(from, gap int) func(k int) bool { return func(k int) bool { return k <= from || k%gap != 0 } }
	unevenly := func(k int) bool { return k%7 < 3 || k%5 == 1 }
	peaking := func(by int, counts []int) []int {
		counts[20] += by
		return counts
	}
	tests := map[string]struct {
		category trace.Category
		counts   []int
		want     string
	}{
		"activations that outlive their step": {trace.Activation, counted(always), "1 undecided, 5 growing, 15 suspected leak"},
		"gradients":                           {trace.Gradient, counted(always), "1 undecided, 5 growing, 15 suspected leak"},
		"inputs":                              {trace.Input, counted(always), "1 undecided, 5 growing, 15 suspected leak"},
		"what may be a cache takes longer":    {trace.Workspace, counted(always), "1 undecided, 5 growing, 19 suspected leak"},
		"one every fourth step":               {trace.Workspace, counted(every(4)), "1 undecided, 4 steady, 5 undecided, 9 steady, 17 growing, 33 suspected leak"},
		"a cache of ten":                      {trace.Workspace, counted(until(10)), "1 undecided, 5 growing, 15 cache warming up, 27 steady"},
		"two in the first steps":              {trace.Workspace, counted(until(2)), "1 undecided, 8 steady"},
		"half as fast later is a cache":       {trace.Workspace, counted(slower(26, 2)), "1 undecided, 5 growing, 19 suspected leak, 29 growing, 42 suspected leak, 49 cache warming up"},
		"two thirds as fast is none":          {trace.Workspace, counted(slower(24, 3)), "1 undecided, 5 growing, 19 suspected leak, 28 growing"},
		"growth must far outdo what comes and goes": {
			trace.Activation, peaking(8, counted(unevenly)), "1 undecided, 8 growing, 22 steady, 27 growing, 51 suspected leak",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := trends(test.category, test.counts); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestSitesOfAProgramThatMeasuresSomeSteps samples a site after some steps only, of
// which it has grown in all.
func TestSitesOfAProgramThatMeasuresSomeSteps(t *testing.T) {
	sampled := func(count func(step int64) int, steps ...int64) Verdict {
		e := evidence{category: trace.Workspace}
		for _, step := range steps {
			e.samples = append(e.samples, sample{Level: Level{Count: count(step), Bytes: int64(count(step)) << 10, Step: step}})
		}
		return e.judge()
	}
	each := func(step int64) int { return int(step) }
	ten := func(step int64) int { return int(min(step, 10)) }
	tests := map[string]struct {
		verdict Verdict
		trend   Trend
		rate    int64
	}{
		"one more in each step, measured at odd intervals": {sampled(each, 1, 4, 6, 11, 20, 24), Suspected, 1 << 10},
		"three samples say too little":                     {sampled(each, 1, 20, 40), Undecided, 0},
		"a cache that was filled within two samples":       {sampled(ten, 1, 4, 8, 12, 16, 20, 24, 28, 32), Steady, 0},
		"as many more at each sample, whatever lies between": {
			sampled(func(step int64) int { return int(step*step) / 16 }, 1, 4, 9, 16, 25), Growing, 39 << 10 / 24,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.verdict.Trend != test.trend || test.trend != Steady && test.verdict.GrowthPerStep != test.rate {
				t.Errorf("got %s at %d bytes a step (%s), want %s at %d",
					test.verdict.Trend, test.verdict.GrowthPerStep, test.verdict.Reason, test.trend, test.rate)
			}
		})
	}
}
