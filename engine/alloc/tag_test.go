package alloc

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestLabelsAreInterned(t *testing.T) {
	names := NewNames()
	labels := map[string]Label{
		"nothing":        {},
		"a category":     {Category: trace.Input},
		"everything":     {trace.Gradient, "head", "grad", "[2]", "bf16"},
		"without a name": {Category: trace.OtherCategory, Layer: "head"},
	}
	for name, l := range labels {
		t.Run(name, func(t *testing.T) {
			tag := names.Tag(l)
			if names.Tag(l) != tag {
				t.Error("the same label has two tags")
			}
			if diff := cmp.Diff(l, names.Label(tag)); diff != "" {
				t.Errorf("the tag's label (-want +got):\n%s", diff)
			}
		})
	}
	if got := names.Label(Tag{}); got != (Label{}) {
		t.Errorf("the zero tag says %+v", got)
	}
}

func TestMarksStandAmongTheEvents(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{History: 100})
	a.Mark(trace.StepBegin, 7, "")
	a.Free(must(t, a, 512))
	a.Mark(trace.StepEnd, 7, "")
	a.Mark(trace.SettingChanged, 8, "checkpoint=per-block")
	want := []trace.Kind{
		trace.StepBegin, trace.SegmentAlloc, trace.Alloc, trace.FreeRequested, trace.FreeCompleted,
		trace.StepEnd, trace.SettingChanged,
	}
	if got := kinds(a, 100); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	last := a.history.all().At(6)
	tables := a.Names().Tables()
	if text := tables.Strings[tables.Notes[last.Note].UserMetadata]; last.Size != 8 || text != "checkpoint=per-block" {
		t.Errorf("the last mark says %d, %q", last.Size, text)
	}
}
