package trace_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/snapshots/trace"
)

// uncachedRun is a random run on a device without a caching allocator: the state
// before it, its events, and the bytes that are held after each of them.
type uncachedRun struct {
	in     *trace.Interner
	base   trace.State
	events []trace.Event
	levels []int64
}

// newUncachedRun makes a run of addresses and sizes that no rule rounds.
func newUncachedRun(seed uint64) *uncachedRun {
	rnd := rand.New(rand.NewPCG(seed, 0))
	run := &uncachedRun{in: trace.NewInterner()}
	note := run.in.Note(trace.Note{Category: run.in.String("activation")})
	held, level := map[uint64]int64{}, int64(0)
	for i := range 20 {
		addr, size := uint64(0x5000_0001+1000*i), int64(1+rnd.IntN(1000))
		held[addr], level = size, level+size
		run.base.Segments = append(run.base.Segments, trace.Segment{
			Addr: addr, Size: size, Given: 0xfff, Blocks: []trace.Block{{
				Addr: addr, Size: size, Requested: size, State: trace.Allocated, Stack: trace.EmptyStack,
				Given: trace.GaveAddr | trace.GaveSize | trace.GaveRequested | trace.GaveState,
			}},
		})
	}
	for i := range 400 {
		e := trace.Event{Kind: trace.Free, Time: int64(1000 + i), Stack: trace.EmptyStack, Note: note}
		e.Addr = 0x5000_0001 + uint64(1000*rnd.IntN(40))
		var live bool
		if e.Size, live = held[e.Addr]; live {
			delete(held, e.Addr)
			level -= e.Size
		} else {
			e.Kind, e.Size = trace.Alloc, int64(1+rnd.IntN(1000))
			held[e.Addr] = e.Size
			level += e.Size
		}
		run.events, run.levels = append(run.events, e), append(run.levels, level)
	}
	return run
}

// follow returns the trace that a follower makes of a run.
func (run *uncachedRun) follow(t *testing.T) *trace.Trace {
	t.Helper()
	f := trace.NewFollower(run.in, 0)
	f.Describe(trace.Info{}, []trace.Setting{{Key: "allocator", Value: "none"}})
	f.Base(0, 0, run.base, 0, "")
	f.Append(0, run.events)
	if p := f.Problems(); p.Count > 0 {
		t.Fatal(p.First[0])
	}
	return f.Publish(nil, nil)
}

func TestWithoutACachingAllocatorAllReplaysAgree(t *testing.T) {
	for seed := range uint64(10) {
		run := newUncachedRun(seed)
		tr := run.follow(t)
		d := tr.Device(0)
		if got, want := d.Final.Reserved(), run.levels[len(run.levels)-1]; got != want {
			t.Fatalf("%d bytes are reserved at the end, and %d were asked for", got, want)
		}
		back := trace.NewRewinder(tr, d)
		for at := d.Events.Len() - 1; at >= 0; at -= 7 {
			back.To(at)
			state := back.State()
			if got := state.Reserved(); got != run.levels[at] {
				t.Fatalf("after event %d, %d bytes are reserved, and %d were asked for", at, got, run.levels[at])
			}
		}
		back.To(-1)
		state := back.State()
		if diff := cmp.Diff(layout(&run.base), layout(&state)); diff != "" || back.Problems().Count > 0 {
			t.Fatalf("undone (-base +undone):\n%s%v", diff, back.Problems())
		}
		life := trace.NewLifetimes()
		life.Begin(d.Base)
		life.Advance(d.Events)
		sizes := trace.NewBlockSizes(tr, d, life)
		for at := range d.Events.Len() {
			if e := d.Events.At(at); e.Kind == trace.Alloc {
				if a := life.Allocation(trace.AllocationID(at)); sizes.Of(&a) != a.Size {
					t.Fatalf("the block of event %d has %d bytes, and %d were asked for", at, sizes.Of(&a), a.Size)
				}
			}
		}
	}
}

func TestAGapWithoutACachingAllocatorIsBridged(t *testing.T) {
	run := newUncachedRun(1)
	want := run.follow(t)
	f := trace.NewFollower(run.in, 0)
	f.Describe(trace.Info{}, []trace.Setting{{Key: "allocator", Value: "none"}})
	f.Base(0, 0, run.base, 0, "")
	f.Append(0, run.events[:100])
	f.Base(0, 400, want.Devices[0].Final, 300, "too slow")
	got := f.Publish(nil, &trace.Live{})
	d, gap := got.Device(0), got.Live.Gaps[0]
	for i := gap.From; i < gap.To; i++ {
		if d.Events.At(i).Kind.Segment() {
			t.Errorf("event %d, which bridges the gap, is %s", i, d.Events.At(i).Kind)
		}
	}
	state, problems := trace.Rewind(got, d)
	if diff := cmp.Diff(layout(&run.base), layout(&state)); diff != "" || problems.Count > 0 {
		t.Errorf("undone (-base +undone):\n%s%v", diff, problems.First)
	}
}

func TestWhatContradictsADeviceWithoutACachingAllocator(t *testing.T) {
	run := newUncachedRun(1)
	f := trace.NewFollower(run.in, 0)
	f.Describe(trace.Info{}, []trace.Setting{{Key: "allocator", Value: "none"}})
	f.Base(0, 0, trace.State{}, 0, "")
	events := []trace.Event{
		{Kind: trace.Alloc, Addr: 5, Size: 10},
		{Kind: trace.Alloc, Addr: 14, Size: 1}, // within the one before
		{Kind: trace.Alloc, Addr: 99, Size: 0},
		{Kind: trace.Alloc, Addr: 1<<64 - 1, Size: 9},
		{Kind: trace.Free, Addr: 6, Size: 10},
	}
	f.Append(0, events)
	if got := f.Problems().Count; got != 4 {
		t.Errorf("%d problems, want 4: %v", got, f.Problems().First)
	}
	if s := f.Publish(nil, nil).Devices[0].Final; len(s.Segments) != 1 || s.Reserved() != 10 {
		t.Errorf("the state is %s", layout(&s))
	}
	f.Append(0, slices.Clone([]trace.Event{{Kind: trace.Free, Addr: 5, Size: 10}, {Kind: trace.Alloc, Addr: 14, Size: 1}}))
	if s := f.Publish(nil, nil).Devices[0].Final; len(s.Segments) != 1 || s.Reserved() != 1 {
		t.Errorf("the state is %s", layout(&s))
	}
}
