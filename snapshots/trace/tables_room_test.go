package trace

import (
	"fmt"
	"testing"
)

// TestTablesAreBounded interns new things without end, of every kind.
func TestTablesAreBounded(t *testing.T) {
	in := NewInterner()
	in.Bound(1 << 20)
	first := in.String("the first")
	category := in.String("activation")
	const many = 100_000
	for n := range many {
		name := in.String(fmt.Sprint("name ", n))
		frame := in.Frame(Frame{Name: name, Line: int32(n)})
		stack := in.Stack([]FrameID{frame, 0, FrameID(n)})
		note := in.Note(Note{Category: category, Layer: name, Pool: in.Pool(Pool{0, int64(n)})})
		in.List([]StringID{name, StringID(n)})
		in.Stream(uint64(n))
		if got := in.Notes[note].Category; got != category {
			t.Fatalf("the note of name %d has category %d, want %d", n, got, category)
		}
		if n == many-1 && (in.Strings[name] != NotKept || in.FrameText(frame) != ":0 "+NotKept || stack != in.Rest().Stack) {
			t.Errorf("the last name reads %q, its frame %q, its stack %d", in.Strings[name], in.FrameText(frame), stack)
		}
	}
	entries := len(in.Strings) + len(in.Frames) + len(in.Notes) + len(in.Pools) + len(in.Streams) + len(in.Lists) + in.StackCount()
	if entries > 1<<20/frameBytes+spareNotes || !in.Full() {
		t.Errorf("there are %d entries, full %v", entries, in.Full())
	}
	if in.String("the first") != first || in.Stack([]FrameID{1, 0, 0}) == in.Rest().Stack {
		t.Error("what was known before is not known any more")
	}
}

func TestTablesWithoutABoundKeepAll(t *testing.T) {
	in := NewInterner()
	for n := range 10_000 {
		if id := in.String(fmt.Sprint(n)); in.Strings[id] != fmt.Sprint(n) {
			t.Fatalf("name %d reads %q", n, in.Strings[id])
		}
	}
	if in.Full() {
		t.Error("they are full")
	}
}
