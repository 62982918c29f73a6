package alloc

import (
	"fmt"
	"runtime"
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

// TestNamesAreBounded allocates with stacks and labels that never come again.
func TestNamesAreBounded(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{Stacks: true})
	const many = 40_000 // more than there is room for
	var known []trace.StackID
	before := heap()
	for _, many := range []int{many, many / 10} { // at one place, before and after all the others
		known = append(known, allocateAt(t, a, 0, 0, Label{Category: trace.Parameter, Layer: "known"}))
		for n := range many {
			allocateAt(t, a, n, 17, Label{Category: trace.Activation, Layer: fmt.Sprint("layer ", n)})
		}
	}
	if grown := heap() - before; grown > 2*namesBytes {
		t.Errorf("they take %d bytes, more than twice %d", grown, namesBytes)
	}
	if known[0] != known[1] {
		t.Errorf("a stack that was known had number %d and then %d", known[0], known[1])
	}
	if last := allocateAt(t, a, many, 17, Label{}); last != a.names.in.Rest().Stack {
		t.Errorf("a stack that there is no room for has number %d", last)
	}
	if l := a.names.Label(a.Tag(Label{Category: trace.Activation, Layer: "new"})); l.Category != trace.Activation || l.Layer == "new" {
		t.Errorf("a label that there is no room for is %+v", l)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// allocateAt returns the stack of an allocation from a place of its own for each
// path.
//
//go:noinline
func allocateAt(t *testing.T, a *Allocator, path, depth int, l Label) trace.StackID {
	t.Helper()
	if depth > 0 && path&1 == 0 {
		return allocateAt(t, a, path>>1, depth-1, l)
	}
	if depth > 0 {
		return allocateAt(t, a, path>>1, depth-1, l)
	}
	b, err := a.Alloc(512, 0, a.Tag(l))
	fatal.If(t, err)
	defer a.Free(b)
	return b.b.stack
}
