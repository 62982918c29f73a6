package trace

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEqualThingsHaveOneNumber(t *testing.T) {
	in := NewInterner()
	for name, intern := range map[string]func(n int) uint32{
		"strings": func(n int) uint32 { return uint32(in.String(fmt.Sprint("s", n))) },
		"bytes":   func(n int) uint32 { return uint32(in.Bytes(fmt.Append(nil, "b", n))) },
		"frames":  func(n int) uint32 { return uint32(in.Frame(Frame{Line: int32(n)})) },
		"notes":   func(n int) uint32 { return uint32(in.Note(Note{Pool: PoolID(n + 1)})) },
		"streams": func(n int) uint32 { return uint32(in.Stream(uint64(n + 1))) },
		"pools":   func(n int) uint32 { return uint32(in.Pool(Pool{0, int64(n)})) },
		"stacks":  func(n int) uint32 { return uint32(in.Stack([]FrameID{1, FrameID(n), 2})) },
		"lists":   func(n int) uint32 { return uint32(in.List([]StringID{StringID(n), 1})) },
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[uint32]bool{0: true}
			var first []uint32
			for n := range 100 {
				id := intern(n)
				if seen[id] {
					t.Fatalf("thing %d has the number %d of another, or of nothing", n, id)
				}
				seen[id] = true
				first = append(first, id)
			}
			for n := range 100 {
				if id := intern(n); id != first[n] {
					t.Fatalf("thing %d had number %d and now has %d", n, first[n], id)
				}
			}
		})
	}
}

func TestTheFixedNumbers(t *testing.T) {
	in := NewInterner()
	for name, test := range map[string]struct{ got, want any }{
		"the empty string":   {in.String(""), EmptyString},
		"the empty bytes":    {in.Bytes(nil), EmptyString},
		"the empty stack":    {in.Stack(nil), EmptyStack},
		"the default stream": {in.Stream(0), DefaultStream},
		"the empty note":     {in.Note(Note{}), NoteID(0)},
	} {
		if test.got != test.want {
			t.Errorf("%s has number %v, want %v", name, test.got, test.want)
		}
	}
	tables := in.View()
	if got := tables.Stack(0); got != nil {
		t.Errorf("the absent stack has frames %v", got)
	}
	if got := tables.Stack(EmptyStack); got != nil {
		t.Errorf("the empty stack has frames %v", got)
	}
}

func TestInternedBytesAreCopied(t *testing.T) {
	in := NewInterner()
	text := []byte("weights")
	id := in.Bytes(text)
	text[0] = 'W'
	if got := in.View(); got.String(id) != "weights" {
		t.Errorf("the string became %q when its source changed", got.String(id))
	}
}

// TestAViewNeverChanges takes views while the tables grow past their arena's
// chunks, and reads them afterwards.
func TestAViewNeverChanges(t *testing.T) {
	in := NewInterner()
	type moment struct {
		view   Tables
		stacks int
	}
	var moments []moment
	stack := func(n int) []FrameID {
		frames := make([]FrameID, 1+n%200)
		for i := range frames {
			frames[i] = FrameID(n + i)
		}
		return frames
	}
	for n := range 1000 {
		in.Stack(stack(n))
		in.String(fmt.Sprint(n))
		moments = append(moments, moment{in.View(), in.StackCount()})
	}
	for n, m := range moments {
		if m.view.StackCount() != m.stacks || len(m.view.Strings) != n+3 {
			t.Fatalf("view %d has %d stacks and %d strings, want %d and %d",
				n, m.view.StackCount(), len(m.view.Strings), m.stacks, n+3)
		}
		for _, k := range []int{0, n / 2, n} {
			if got, want := m.view.Stack(StackID(k+2)), stack(k); !slices.Equal(got, want) {
				t.Fatalf("in view %d stack %d is %v, want %v", n, k, got, want)
			}
		}
	}
}

func TestTheFirstWordOfFXStays(t *testing.T) {
	in := NewInterner()
	f := in.Frame(Frame{Line: 1})
	first := FX{Op: in.String("call_function")}
	in.SetFX(f, first)
	in.SetFX(f, FX{Op: in.String("output")})
	view := in.View()
	if got := view.FX[view.FrameFX[f]]; got != first {
		t.Errorf("FX %+v, want the first, %+v", got, first)
	}
}

func TestFrameText(t *testing.T) {
	in := NewInterner()
	for want, f := range map[string]Frame{
		"model.py:7 forward": {in.String("model.py"), in.String("forward"), 7},
		":0 ":                {},
		"a\uFFFDb:3 c":       {in.String("a\x1bb"), in.String("c"), 3},
	} {
		id := in.Frame(f)
		view := in.View()
		if got := view.FrameText(id); got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
}

func TestEventLog(t *testing.T) {
	var log EventLog
	empty := log.Events()
	const n = 3*chunkSize + 17
	var half Events
	for i := range n {
		if got := log.Append(Event{Addr: uint64(i)}); got != i {
			t.Fatalf("event %d got number %d", i, got)
		}
		if i == n/2 {
			half = log.Events()
		}
	}
	all := log.Events()
	if empty.Len() != 0 || half.Len() != n/2+1 || all.Len() != n {
		t.Errorf("lengths %d, %d and %d, want 0, %d and %d", empty.Len(), half.Len(), all.Len(), n/2+1, n)
	}
	middle := all.Slice(chunkSize-5, 2*chunkSize+5)
	var walked []uint64
	for i := 0; i < middle.Len(); {
		span := middle.Span(i)
		for k := range span {
			walked = append(walked, span[k].Addr)
		}
		i += len(span)
	}
	want := make([]uint64, chunkSize+10)
	for i := range want {
		want[i] = uint64(chunkSize - 5 + i)
	}
	if diff := cmp.Diff(want, walked); diff != "" {
		t.Errorf("the spans of a slice (-want +got):\n%s", diff)
	}
}

func TestKindsHaveTheNamesOfPyTorch(t *testing.T) {
	for k := range KindCount {
		if got := KindOf(Kind(k).String()); got != Kind(k) {
			t.Errorf("the name of kind %d is that of kind %d", k, got)
		}
	}
	if got := KindOf("workspace_snapshot"); got != Other {
		t.Errorf("an unknown action is kind %s, want other", got)
	}
	if got := Kind(200).String(); got != "other" {
		t.Errorf("kind 200 is called %q, want other", got)
	}
}
