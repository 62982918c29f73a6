package trace

import "testing"

// TestAReplayIsGivenAwayOnce asks for replayed lifetimes with other events than theirs,
// then twice with their own.
func TestAReplayIsGivenAwayOnce(t *testing.T) {
	var log EventLog
	for i := range 3 {
		log.Append(Event{Kind: Alloc, Addr: uint64(i) << 9, Size: 512})
	}
	events := log.Events()
	replayed := NewLifetimes()
	replayed.Advance(events)
	r := NewReplay(replayed)
	var copied EventLog
	copied.AppendAll(events.Span(0))
	for name, others := range map[string]Events{
		"fewer": events.Slice(0, 2), "later": events.Slice(1, 3), "a copy": copied.Events(), "none": {},
	} {
		if l := r.Take(others); l == replayed || l.Events().Len() != 0 {
			t.Errorf("%s: got lifetimes of other events", name)
		}
	}
	if r.Take(events) != replayed {
		t.Error("what was replayed is replayed again")
	}
	if l := r.Take(events); l == replayed || l.Events().Len() != 0 {
		t.Error("the same lifetimes were given away twice")
	}
	if l := (*Replay)(nil).Take(events); l.Events().Len() != 0 {
		t.Error("no replay has lifetimes")
	}
}

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
