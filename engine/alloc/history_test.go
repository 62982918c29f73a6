package alloc

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

func TestTheHistoryKeepsTheLastEvents(t *testing.T) {
	r := &tape{}
	a := newAllocator(t, newMemory(t, gib), Options{Recorder: r, History: 10})
	for range 20 {
		a.Free(must(t, a, 512))
	}
	d := a.Snapshot().Devices[0]
	if !d.Overflowed || d.MaxEvents != 10 || d.Events.Len() != 10 {
		t.Errorf("overflowed %v, at most %d, kept %d", d.Overflowed, d.MaxEvents, d.Events.Len())
	}
	all := r.events[:len(r.events)-1] // but the snapshot that was just taken
	for i := range 10 {
		if got, want := *d.Events.At(i), all[len(all)-10+i]; got != want {
			t.Errorf("event %d: got %+v, want %+v", i, got, want)
		}
	}
	if got := r.events[len(r.events)-1]; got.Kind != trace.Snapshot {
		t.Errorf("the last event recorded is %s, want the snapshot", got.Kind)
	}
}

func TestAHistoryThatWasNotFilledLostNothing(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{History: 4})
	a.Free(must(t, a, 512))
	if d := a.Snapshot().Devices[0]; d.Overflowed || d.Events.Len() != 4 {
		t.Errorf("overflowed %v with %d events", d.Overflowed, d.Events.Len())
	}
	a.SetHistory(0)
	a.Free(must(t, a, 512))
	if d := a.Snapshot().Devices[0]; d.Overflowed || d.Events.Len() != 0 {
		t.Errorf("switched off: overflowed %v with %d events", d.Overflowed, d.Events.Len())
	}
}

// stackOf returns the text of an event's stack, innermost frame first.
func stackOf(tr *trace.Trace, e *trace.Event) string {
	var lines []string
	for _, f := range tr.Tables.Stack(e.Stack) {
		lines = append(lines, tr.Tables.FrameText(f))
	}
	return strings.Join(lines, "\n")
}

func allocateHere(t *testing.T, a *Allocator) Allocation {
	t.Helper()
	b, err := a.Alloc(512, 0, Tag{})
	fatal.If(t, err)
	return b
}

func TestStacksSayWhoAsked(t *testing.T) {
	for on, want := range map[bool]string{false: "", true: "allocateHere"} {
		a := newAllocator(t, newMemory(t, gib), Options{History: 100, Stacks: on})
		b := allocateHere(t, a)
		a.Retag(b, a.Tag(Label{Role: "probs"}))
		a.Free(b)
		tr := a.Snapshot()
		for i := range tr.Devices[0].Events.Len() {
			e := tr.Devices[0].Events.At(i)
			first, _, _ := strings.Cut(stackOf(tr, e), "\n")
			if !strings.HasSuffix(first, want) || !on && first != "" {
				t.Errorf("%s with stacks %v: the innermost frame is %q, want %q", e.Kind, on, first, want)
			}
		}
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
