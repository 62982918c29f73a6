package analysis

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestARetagMovesBytesBetweenCategoriesFromThenOn follows one allocation that
// is workspace at first and an activation later.
func TestARetagMovesBytesBetweenCategoriesFromThenOn(t *testing.T) {
	in := trace.NewInterner()
	tagged := func(category string) trace.NoteID { return in.Note(trace.Note{Category: in.String(category)}) }
	workspace, activation := tagged("workspace"), tagged("activation")
	var log trace.EventLog
	for _, e := range []trace.Event{
		{Kind: trace.Alloc, Addr: 0x1000, Size: 700, Note: workspace},
		{Kind: trace.Alloc, Addr: 0x2000, Size: 30, Note: workspace},
		{Kind: trace.Retag, Addr: 0x1000, Size: 700, Note: activation},
		{Kind: trace.Retag, Addr: 0x9000, Size: 5, Note: activation}, // nothing is there
		{Kind: trace.FreeRequested, Addr: 0x1000, Size: 700, Note: activation},
		{Kind: trace.FreeCompleted, Addr: 0x1000, Size: 700, Note: activation},
	} {
		log.Append(e)
	}
	tables := in.View()
	tr := &trace.Trace{Tables: &tables, Devices: []trace.Device{{Events: log.Events()}}}
	x := NewIndex(tr, &tr.Devices[0])
	type moment struct{ workspace, activation int64 }
	for at, want := range map[int]moment{0: {700, 0}, 1: {730, 0}, 2: {30, 700}, 3: {30, 700}, 4: {30, 700}, 5: {30, 0}} {
		sums, counted := x.CategoriesAt(at), CategoriesOf(x.RulesAt(at))
		if got := (moment{sums[trace.Workspace], sums[trace.Activation]}); got != want {
			t.Errorf("after event %d: %+v, want %+v", at, got, want)
		}
		if sums != counted {
			t.Errorf("after event %d: the series says %v, counting says %v", at, sums, counted)
		}
	}
	if note := x.AliveAt(2)[0].Note; note != activation {
		t.Errorf("alive after the retag: note %d, want %d", note, activation)
	}
	if note := x.AliveAt(1)[0].Note; note != workspace {
		t.Errorf("alive before the retag: note %d, want %d", note, workspace)
	}
}
