package analysis

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// checkMoved compares every field of a map that was moved, those of its
// segments and blocks too, with the map that is inferred as a whole.
func checkMoved(t *testing.T, x *Index, from *Map, at int) *Map {
	t.Helper()
	moved := x.MapAt(at, from)
	if want := x.SegmentsAt(at); !reflect.DeepEqual(moved, want) {
		t.Fatalf("moved from event %d to %d: differs from the whole map:\n got %+v\nwant %+v", from.At, at, moved, want)
	}
	return moved
}

func TestMovedMapEqualsTheWholeOneStepByStep(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	forRandom(t, func(t *testing.T, x *Index, _ naive) {
		t.Helper()
		m := x.SegmentsAt(-1)
		for at := 0; at <= x.End(); at++ {
			m = checkMoved(t, x, m, at)
		}
		for at := x.End() - 1; at >= -1; at-- {
			m = checkMoved(t, x, m, at)
		}
	})
}

func TestMovedMapEqualsTheWholeOneFromAnywhereToAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	forRandom(t, func(t *testing.T, x *Index, _ naive) {
		t.Helper()
		r := rand.New(rand.NewPCG(1, uint64(x.End())))
		m := x.SegmentsAt(x.End() / 2)
		for range 200 {
			m = checkMoved(t, x, m, r.IntN(x.End()+2)-1)
		}
	})
}

func TestMovedMapEqualsTheAllocatorsAtEveryEvent(t *testing.T) {
	for seed := range uint64(8) {
		tr, states := watched(pytorchtest.Options{Seed: seed, Operations: 400, Expandable: seed%2 == 1})
		x := NewIndex(tr, &tr.Devices[0])
		var m *Map
		for _, want := range states {
			m = x.MapAt(want.event, m)
			if got, want := outline(m, true), outlineState(&want.state, true); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, after event %d: got %v, want %v", seed, m.At, got, want)
			}
		}
	}
}

func TestMovedMapOfNonsenseEqualsTheWholeOne(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	moved := 0
	for seed := range seeds(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		tr := nonsense(r)
		x := NewIndex(tr, &tr.Devices[0])
		m := x.SegmentsAt(-1)
		for range 50 {
			at := max(-1, min(m.At+r.IntN(9)-4, x.End()))
			if x.moveMap(m, at) != nil {
				moved++
			}
			m = checkMoved(t, x, m, at)
		}
	}
	if moved == 0 {
		t.Error("no map was moved")
	}
}

func TestMovingSharesWhatNoEventTouched(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
device 0
alloc 0x10000000 512 stack=act
alloc 0x20000000 512 stack=act
free 0x20000000 512 stack=act
segment 0x10000000 2097152 stream=0 type="small"
block 0x10000000 512 active_allocated requested=512
block 0x10000200 2096640 inactive
segment 0x20000000 2097152 stream=0 type="small"
block 0x20000000 2097152 inactive
`)
	before := x.inferMap(2)
	if len(before.Segments) != 2 {
		t.Fatalf("%d segments, want 2", len(before.Segments))
	}
	after := x.moveMap(before, 1)
	if after == nil || after.Segments[1].Live != 512 || before.Segments[1].Live != 0 {
		t.Fatalf("moved back by one event: got %+v", after)
	}
	if &after.Segments[0].Blocks[0] != &before.Segments[0].Blocks[0] {
		t.Error("the segment that no event is about was made anew")
	}
}
