package trace

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
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

func TestABoundGrowsWithWhatWasRead(t *testing.T) {
	b := Bound{Least: 100 << 20, PerByte: 10, Most: 1 << 30}
	for read, want := range map[int64]int64{0: 100 << 20, 1 << 20: 110 << 20, 1 << 40: 1 << 30, math.MaxInt64: 1 << 30} {
		if got := b.After(read); got != want {
			t.Errorf("after %d bytes it is %d, want %d", read, got, want)
		}
		if room := b.Room(read); room <= 0 || room >= want {
			t.Errorf("after %d bytes there is room for %d of %d", read, room, want)
		}
	}
	if got := FixedBound(1 << 30).After(math.MaxInt64); got != 1<<30 {
		t.Errorf("a fixed bound becomes %d", got)
	}
	if (Bound{}).Room(0) != math.MaxInt64 {
		t.Error("no bound is one")
	}
	if FixedBound(1<<20).Room(0) > 0 {
		t.Error("there is room in less than the program itself takes")
	}
}

// TestTablesTakeNoMoreThanTheySay fills each table and compares what the heap
// grew by with what the interner says.
func TestTablesTakeNoMoreThanTheySay(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	text := func(n int) []byte { return binary.LittleEndian.AppendUint32([]byte("text"), uint32(n)) }
	for name, add := range map[string]func(in *Interner, n int){
		"texts":       func(in *Interner, n int) { in.Bytes(text(n)) },
		"frames":      func(in *Interner, n int) { in.Frame(Frame{Line: int32(n)}) },
		"torch.fx":    func(in *Interner, n int) { in.SetFX(FrameID(n), FX{}) },
		"notes":       func(in *Interner, n int) { in.Note(Note{Layer: StringID(n)}) },
		"streams":     func(in *Interner, n int) { in.Stream(uint64(n)) },
		"pools":       func(in *Interner, n int) { in.Pool(Pool{0, int64(n)}) },
		"stacks":      func(in *Interner, n int) { in.Stack([]FrameID{FrameID(n), 1, 2}) },
		"long stacks": func(in *Interner, n int) { in.Stack(append(make([]FrameID, 9000), FrameID(n))) },
		"lists":       func(in *Interner, n int) { in.List([]StringID{StringID(n)}) },
	} {
		t.Run(name, func(t *testing.T) {
			in, many := NewInterner(), 115_000 // the maps have just been split
			if name == "long stacks" {
				many = 500
			}
			before := heap()
			for n := range many {
				add(in, n)
			}
			const chunk = 64 << 10 // the last one of stacks, of which it is not known yet how much will be used
			if grown, said := heap()-before, in.Memory()+chunk; grown > said {
				t.Errorf("they take %d bytes each, and say %d", grown/int64(many), said/int64(many))
			}
			runtime.KeepAlive(in)
		})
	}
}
