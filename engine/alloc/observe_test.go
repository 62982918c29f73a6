package alloc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestEventsLeadOnFromTheStateOfTheirFirst takes the state in the middle of a
// program, undoes all events recorded since, and must come back to the blocks
// that were live then.
func TestEventsLeadOnFromTheStateOfTheirFirst(t *testing.T) {
	p := newProgram(t, 7, Options{Limit: 600 * mib})
	for range 500 {
		p.step()
	}
	r := &tape{}
	p.a.Observe(r)
	for range 500 {
		p.step()
	}
	from := -1
	base := p.a.State(func() { from = len(r.events) })
	if from != len(r.events) {
		t.Fatalf("%d events at the moment of the state, %d after it: looking was an event", from, len(r.events))
	}
	for range 500 {
		p.step()
	}
	var log trace.EventLog
	for _, e := range r.events[from:] {
		log.Append(e)
	}
	tables := p.a.Names().Tables()
	end := &trace.Trace{Tables: &tables, Devices: []trace.Device{{Events: log.Events(), Final: p.a.State(nil)}}}
	got, problems := trace.Rewind(end, &end.Devices[0])
	if problems.Count > 0 {
		t.Errorf("%d problems: %v", problems.Count, problems.First)
	}
	if diff := cmp.Diff(requests(&base), requests(&got)); diff != "" {
		t.Errorf("live blocks (-state +events undone):\n%s", diff)
	}
}

func TestLostBlocksAreToldOfAgainAfterAState(t *testing.T) {
	r := &tape{}
	a := newAllocator(t, newMemory(t, gib), Options{})
	lost, held := must(t, a, 700), must(t, a, 512)
	a.Lost(lost) // while there is no recorder
	a.Lost(Allocation{})
	a.Observe(r)
	at := -1
	for range 2 {
		a.State(func() { at = len(r.events) })
		if len(r.events) != at+1 {
			t.Fatalf("%d events follow the state, want 1", len(r.events)-at)
		}
		want := trace.Event{Kind: trace.Lost, Addr: lost.Addr(), Size: 700, Time: r.events[at].Time, Note: r.events[at].Note}
		if diff := cmp.Diff(want, r.events[at]); diff != "" || want.Time == 0 {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	a.Lost(held)
	if e := r.events[len(r.events)-1]; e.Kind != trace.Lost || e.Addr != held.Addr() {
		t.Errorf("got %s at %#x, want lost at %#x", e.Kind, e.Addr, held.Addr())
	}
	checkRecount(t, a)
}
