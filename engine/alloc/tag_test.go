package alloc

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// tape is a recorder that keeps everything.
type tape struct{ events []trace.Event }

func (r *tape) Record(_ int, e trace.Event) { r.events = append(r.events, e) }

func TestRetagMovesBytesAndTellsOfIt(t *testing.T) {
	r := &tape{}
	a := newAllocator(t, newMemory(t, gib), Options{Recorder: r})
	scratch := a.Tag(Label{Category: trace.Workspace, Role: "output"})
	saved := a.Tag(Label{Category: trace.Activation, Layer: "blocks.0.mlp", Role: "saved", Shape: "[4, 8]", DType: "f32"})
	b, err := a.Alloc(1000, 0, scratch)
	fatal.If(t, err)
	before := a.Stats()
	a.Retag(b, saved)
	a.Retag(b, saved) // says nothing new
	after := a.Stats()
	if before.Category[trace.Workspace].Current != 1000 || after.Category[trace.Workspace].Current != 0 || after.Category[trace.Activation].Current != 1000 {
		t.Errorf("before %+v, after %+v", before.Category, after.Category)
	}
	if x, y := before.Breakdown(), after.Breakdown(); x.Requested() != y.Requested() || x.Rounding != y.Rounding {
		t.Errorf("the sums change: %+v, %+v", x, y)
	}
	if a.TagOf(b) != saved || a.TagOf(b).Category() != trace.Activation || a.TagOf(Allocation{}) != (Tag{}) {
		t.Errorf("the block's tag is %+v", a.TagOf(b))
	}
	a.Free(b)
	var got []trace.Kind
	tables := a.Names().Tables()
	for i, e := range r.events[1:] {
		got = append(got, e.Kind)
		want := "activation"
		if i == 0 {
			want = "workspace"
		}
		if c := tables.Strings[tables.Notes[e.Note].Category]; c != want {
			t.Errorf("event %d, %s: category %q, want %q", i, e.Kind, c, want)
		}
	}
	want := []trace.Kind{trace.Alloc, trace.Retag, trace.FreeRequested, trace.FreeCompleted}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
