package trace

import (
	"encoding/binary"
	"math"
	"runtime"
	"testing"
)

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
