package overview

import (
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheHighestPeakIsThatOfTheStepsShown lets steps come and go at both ends, as a
// running program and a cursor have them.
func TestTheHighestPeakIsThatOfTheStepsShown(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	all := make([]trace.Step, 400)
	for i := range all {
		all[i] = trace.Step{Number: int64(i + 1), Time: int64(1000 + 3*i), PeakAllocated: rnd.Int64N(1000)}
	}
	var h highest
	from, to := 0, 0
	for range 2000 {
		switch rnd.IntN(10) {
		case 0: // old ones are let go, while more come
			gone := rnd.IntN(to - from + 1)
			from, to = from+gone, min(len(all), to+rnd.IntN(2*gone+1))
		case 1: // the cursor goes back
			to = from + rnd.IntN(to-from+1)
		default:
			to = min(len(all), to+rnd.IntN(5))
		}
		if from == len(all) {
			from, to = 0, 0 // another process, with steps of the same numbers
			for i := range all {
				all[i].Time, all[i].PeakAllocated = all[i].Time+1, rnd.Int64N(1000)
			}
		}
		var want trace.Step
		for _, s := range all[from:to] {
			if s.PeakAllocated > want.PeakAllocated {
				want = s
			}
		}
		if got := h.of(all[from:to]); got.bytes != want.PeakAllocated || got.number != want.Number {
			t.Fatalf("of steps %d to %d: %d bytes in step %d, want %d in step %d", from+1, to, got.bytes, got.number, want.PeakAllocated, want.Number)
		}
	}
}
