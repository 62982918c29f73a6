package trace

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWhatIsFoundByFastMeansIsAsItMayBe changes events and their peers at random: what
// [paired] lets pass, the exact rules let pass, and of what nobody changed it decides nearly
// all.
func TestWhatIsFoundByFastMeansIsAsItMayBe(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 3*chunkSize/2 + 7
	events, open := []Event{{Kind: Alloc, Addr: 1 << 30}}, []uint64{}
	for len(events) < n {
		switch k := r.IntN(8); {
		case k < 3:
			open = append(open, uint64(1+r.IntN(1000))<<9)
			events = append(events, Event{Kind: Alloc, Addr: open[len(open)-1], Size: 512})
		case k < 6 && len(open) > 0:
			at := r.IntN(len(open))
			events = append(events, Event{Kind: FreeRequested, Addr: open[at]}, Event{Kind: FreeCompleted, Addr: open[at]})
			open = slices.Delete(open, at, at+1)
		case k < 7:
			events = append(events, Event{Kind: Free, Addr: uint64(1+r.IntN(1000)) << 9})
		default:
			events = append(events, Event{Kind: Kind(r.IntN(KindCount)), Addr: uint64(1+r.IntN(1000)) << 9})
		}
	}
	made := NewLifetimes()
	made.Advance(EventsOf(events))
	made.Finish(&State{})
	flat := made.Flat()
	whole := slices.Concat(flat.Peers...)
	fast := 0
	for i := range events {
		if !made.agrees(int32(i), whole[i], events[i].Kind) {
			t.Fatalf("event %d, %s, does not agree with its own peer %d", i, events[i].Kind, whole[i])
		}
		if paired(whole, int32(i), whole[i], events[i].Kind) {
			fast++
		}
	}
	if fast < len(events)*8/10 {
		t.Errorf("of %d events %d are decided by fast means", len(events), fast)
	}
	refused := 0
	for range 2000 {
		peers := slices.Clone(whole)
		at := r.IntN([]int{4, len(peers)}[r.IntN(2)]) // 0 is a peer of what has none, so event 0 is a case of its own
		peers[at] = []int32{0, int32(at), int32(at) - 1, int32(at) + 1, -1, -2, Never, -1 << 31, int32(len(peers)), r.Int32N(int32(len(peers)))}[r.IntN(10)]
		l, err := LifetimesOf(EventsOf(events), flat, peers)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int32{int32(at), max(whole[at], 0) % int32(len(peers)), max(peers[at], 0) % int32(len(peers))} {
			kind := events[i].Kind
			if r.IntN(3) == 0 {
				kind = Kind(r.IntN(256))
			}
			agrees := l.agrees(i, peers[i], kind)
			if paired(peers, i, peers[i], kind) && !agrees {
				t.Fatalf("event %d, %s, passes with peer %d, which is %d back", i, kind, peers[i], peers[max(peers[i], 0)])
			}
			if !agrees {
				refused++
			}
		}
	}
	if refused < 1000 {
		t.Errorf("%d of the changed events were refused: the test is about little", refused)
	}
}

// TestAChunkWithAWrongNumberIsRefused changes one number of an event at a time.
func TestAChunkWithAWrongNumberIsRefused(t *testing.T) {
	tables := &NewInterner().Tables
	for name, change := range map[string]func(events []Event, peers []int32){
		"a stack":           func(events []Event, _ []int32) { events[1].Stack = StackID(tables.StackCount()) },
		"a note":            func(events []Event, _ []int32) { events[1].Note = NoteID(len(tables.Notes)) },
		"a stream":          func(events []Event, _ []int32) { events[1].Stream = StreamID(len(tables.Streams)) },
		"a kind":            func(events []Event, _ []int32) { events[2].Kind = Kind(KindCount) },
		"an end elsewhere":  func(_ []Event, peers []int32) { peers[1]++ },
		"an end before":     func(_ []Event, peers []int32) { peers[1] = 0 },
		"an end in nothing": func(_ []Event, peers []int32) { peers[1] = Never - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			events := []Event{{Kind: Snapshot}, {Kind: Alloc, Addr: 512, Size: 1}, {Kind: Snapshot}, {Kind: FreeCompleted, Addr: 512}, {Kind: Snapshot}}
			made := NewLifetimes()
			made.Advance(EventsOf(events))
			flat := made.Flat()
			peers := slices.Concat(flat.Peers...)
			check := func() error {
				l, err := LifetimesOf(EventsOf(events), flat, peers)
				if err != nil {
					t.Fatal(err)
				}
				return l.CheckChunk(0, tables, peers)
			}
			if err := check(); err != nil {
				t.Fatal(err)
			}
			change(events, peers)
			if check() == nil {
				t.Error("it is taken for whole")
			}
		})
	}
}

// TestHeldAllocationsAndMarksWithAWrongNumberAreRefused changes one number at a time of
// what lies outside of the events.
func TestHeldAllocationsAndMarksWithAWrongNumberAreRefused(t *testing.T) {
	tables := &NewInterner().Tables
	events := slices.Repeat([]Event{{Kind: Snapshot}}, 2*chunkSize)
	for i := range 4 {
		events[i] = Event{Kind: Alloc, Addr: uint64(i+2) << 9, Size: 1}
	}
	events[5] = Event{Kind: Free, Addr: 512} // held from before
	made := NewLifetimes()
	made.Advance(EventsOf(events))
	made.Finish(&State{})
	for name, change := range map[string]func(h *Held, alive []AllocationID){
		"":                    func(*Held, []AllocationID) {},
		"a stack":             func(h *Held, _ []AllocationID) { h.Stack = StackID(tables.StackCount()) },
		"a note":              func(h *Held, _ []AllocationID) { h.Note = NoteID(len(tables.Notes)) },
		"a stream":            func(h *Held, _ []AllocationID) { h.Stream = StreamID(len(tables.Streams)) },
		"an end elsewhere":    func(h *Held, _ []AllocationID) { h.Close++ },
		"an end in nothing":   func(h *Held, _ []AllocationID) { h.Close = Never - 1 },
		"an end before":       func(h *Held, _ []AllocationID) { h.Close = -1 },
		"alive before made":   func(_ *Held, alive []AllocationID) { alive[len(alive)-1] = AllocationID(len(events) - 1) },
		"alive out of order":  func(_ *Held, alive []AllocationID) { alive[1] = alive[0] },
		"alive and unnatural": func(_ *Held, alive []AllocationID) { alive[0] = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			flat := made.Flat()
			flat.Held, flat.MarkAlive = slices.Clone(flat.Held), slices.Clone(flat.MarkAlive)
			change(&flat.Held[0], flat.MarkAlive[:flat.MarkEnds[0]])
			l, err := LifetimesOf(EventsOf(events), flat, slices.Concat(flat.Peers...))
			if err != nil {
				t.Fatal(err)
			}
			if err := cmp.Or(l.CheckHeld(tables), l.CheckMarks()); (err != nil) != (name != "") {
				t.Error(err)
			}
		})
	}
}
