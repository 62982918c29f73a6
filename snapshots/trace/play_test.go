package trace

import "testing"

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
