package probe

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheLastStepHasTheMemoryOfItsOwnDevice has steps of two devices, and one that nobody measured.
func TestTheLastStepHasTheMemoryOfItsOwnDevice(t *testing.T) {
	f := newFeed()
	if number, last := f.last(); number != 0 || last != nil {
		t.Errorf("before any step: %d, %+v", number, last)
	}
	for _, s := range []trace.Step{
		{Device: 1, Number: 1, Time: 10, Allocated: 100, Reserved: 200, PeakAllocated: 150, PeakReserved: 200},
		{Device: 0, Number: 2, Time: 20, Allocated: 300, Reserved: 400, PeakAllocated: 350, PeakReserved: 400},
		{Device: 1, Number: 3, Time: 30, Duration: 7},
	} {
		f.step(&s, 0)
	}
	if number, last := f.last(); number != 3 || last.Device != 1 || last.PeakAllocated != 150 || last.Duration != 7 {
		t.Errorf("got %d, %+v", number, last)
	}
}

func TestTheLastStepHasTheNewestCounters(t *testing.T) {
	f := newFeed()
	f.step(&trace.Step{Number: 3, Time: 1, Allocated: 10, Reserved: 20, PeakAllocated: 15}, 1)
	f.step(&trace.Step{Number: 4, Time: 2, Allocated: 11, Reserved: 20}, 1)
	if n, last := f.last(); n != 4 || last.Allocated != 11 || last.PeakAllocated != 15 {
		t.Errorf("step %d has %d bytes and a peak of %d, want step 4 with 11 and 15", n, last.Allocated, last.PeakAllocated)
	}
}

// TestANewViewerKnowsWhatMemoryIsForHoweverOldThatIs has a program that replays graphs: no layer is called.
func TestANewViewerKnowsWhatMemoryIsForHoweverOldThatIs(t *testing.T) {
	f := newFeed()
	for n := range int64(2 * stepsBefore) {
		s := trace.Step{Number: n}
		switch n {
		case 1:
			s.Layers = make([]trace.Layer, 1)
		case 2:
			s.Categories = make([]trace.Amount, 1)
		}
		f.step(&s, 0)
	}
	var got []int64
	for _, s := range f.lastSteps()[:3] {
		got = append(got, s.Number)
	}
	if want := []int64{1, 2, stepsBefore}; !slices.Equal(got, want) {
		t.Errorf("the first steps are %v, want %v", got, want)
	}
}
