package tuitest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestALaterTraceBeginsLikeAnEarlierOne(t *testing.T) {
	p := NewProcess(3)
	before := p.Trace()
	p.change("checkpoint", "block", 4)
	after := p.Trace()
	a, b := before.Devices[0].Events, after.Devices[0].Events
	if a.Len() == 0 || b.Len() <= a.Len() {
		t.Fatalf("%d events, then %d", a.Len(), b.Len())
	}
	for i := range a.Len() {
		if diff := cmp.Diff(*a.At(i), *b.At(i)); diff != "" {
			t.Fatalf("event %d changed:\n%s", i, diff)
		}
	}
}

func TestTheProgramsWordIsTheAllocators(t *testing.T) {
	made := Recording()
	x := analysis.NewIndex(made, &made.Devices[0])
	last := made.Steps[len(made.Steps)-1]
	if got := x.Summary().FinalRequested; got != last.Allocated {
		t.Errorf("%d bytes requested at the end, the last step says %d", got, last.Allocated)
	}
	if got := x.Summary().FinalReserved; got != last.Reserved {
		t.Errorf("%d bytes reserved at the end, the last step says %d", got, last.Reserved)
	}
	states := make(map[trace.ChangeState]int)
	for _, c := range made.Live.Changes {
		states[c.State]++
	}
	if want := map[trace.ChangeState]int{trace.Pending: 1, trace.Applied: 2, trace.Refused: 1}; !cmp.Equal(states, want) {
		t.Errorf("changes %v, want %v", states, want)
	}
}
