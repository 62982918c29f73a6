package report

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestWhatAnEarlierViewerLearntIsSaid has verdicts on a site of 64 KiB that this viewer has
// seen for a step, and on one that it does not know.
func TestWhatAnEarlierViewerLearntIsSaid(t *testing.T) {
	const weights = "blocks.0 weight, model.py:3 forward"
	learnt := func(site string, bytes int64, steps int, allocated int64) trace.Learnt {
		return trace.Learnt{Site: site, Verdict: "suspected leak", Bytes: bytes, StepsObserved: steps, Step: 300, Allocated: allocated}
	}
	for name, test := range map[string]struct {
		learnt trace.Learnt
		bytes  int64 // said now, 0 if nothing is said
	}{
		"it is still there":           {learnt(weights, 100_000, 20, 0), 65536},
		"it was given back":           {learnt(weights, 1<<20, 20, 0), 0},
		"this viewer has seen more":   {learnt(weights, 100_000, 0, 0), 0},
		"no site has that name":       {learnt("cache[…]", 1000, 20, 66_000), 1000},
		"as much was freed since":     {learnt("cache[…]", 1<<20, 20, 2<<20), 0},
		"it is less than others vary": {learnt("cache[…]", 1<<20, 20, 500_000), 1 << 20},
	} {
		run := liveRun(t)
		run.Live.Learnt = []trace.Learnt{test.learnt}
		r := NewLive(run)
		got := int64(0)
		for _, l := range r.Leaks {
			if l.Step == 300 {
				got = l.Bytes
			}
		}
		if got != test.bytes {
			t.Errorf("%s: %d bytes are said of %+v, want %d", name, got, r.Leaks, test.bytes)
		}
		if told, known := LearntOf(run); !known || len(told) != len(r.Leaks) {
			t.Errorf("%s: %v is told on, of %v", name, told, r.Leaks)
		}
	}
}
