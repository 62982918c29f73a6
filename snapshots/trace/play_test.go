package trace

import (
	"runtime"
	"testing"
)

// TestAnEventThatNeedsMoreBlocksThanThereMayBeChangesNothing hands out memory from the
// middle of the only block, where there may be one more.
func TestAnEventThatNeedsMoreBlocksThanThereMayBeChangesNothing(t *testing.T) {
	in := NewInterner()
	r := rules{tables: &in.Tables, note: func(id NoteID) NoteID { return id }, most: 2}
	m := newMemory(0)
	if says := r.play(&m, &Event{Kind: SegmentAlloc, Addr: 1 << 24, Size: SmallSegment}); says != "" {
		t.Fatal(says)
	}
	if says := r.play(&m, &Event{Kind: Alloc, Addr: 1<<24 + 1024, Size: 1000}); says == "" || m.used() != 1 {
		t.Errorf("it says %q, and there are %d blocks; want a reason and the one", says, m.used())
	}
}

// TestABaseAfterAnotherLeavesLittleBehind has a large state come again and again, as of a
// program that is too quick for its viewer: what a viewer lets go is memory too, until the
// collector comes.
func TestABaseAfterAnotherLeavesLittleBehind(t *testing.T) {
	const blocks, rounds = 1 << 17, 8
	f := NewFollower(NewInterner(), 0)
	base := func(first int64) {
		f.Base(0, first, manyBlocks(blocks), 1, "too slow")
		f.Publish(nil, &Live{})
	}
	base(0)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range int64(rounds) {
		base(10 * (i + 1))
	}
	runtime.ReadMemStats(&after)
	const most = 300 // of which the state itself is 64; 200 are taken, and 272 under the race detector
	if each := (after.TotalAlloc - before.TotalAlloc) / rounds / blocks; each > most {
		t.Errorf("a base takes %d bytes for each block, want at most %d", each, most)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 128*blocks {
		t.Errorf("%d bases later %d bytes more are held", rounds, grown)
	}
	runtime.KeepAlive(f)
}

func manyBlocks(n int) State {
	s := Segment{Addr: 1 << 30, Size: int64(n) * 512, Given: gaveSegment, Blocks: make([]Block, n)}
	for i := range s.Blocks {
		s.Blocks[i] = Block{Addr: s.Addr + uint64(i)*512, Size: 512, Requested: 500, State: Allocated, Given: gaveBlock}
	}
	return State{Segments: []Segment{s}}
}
