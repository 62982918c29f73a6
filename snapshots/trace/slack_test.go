package trace_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/snapshots/trace"
)

// ownRules is an allocator that rounds to 96 bytes, less or more than PyTorch's.
type ownRules struct {
	next   uint64
	blocks []trace.Block
	events []trace.Event
}

func (o *ownRules) alloc(size int64) {
	rounded := (size + 95) / 96 * 96
	e := trace.Event{Kind: trace.Alloc, Addr: o.next, Size: size, Stack: trace.EmptyStack}
	e.SetSlack(uint64(rounded - size))
	o.events = append(o.events, e)
	o.blocks = append(o.blocks, trace.Block{Addr: o.next, Size: rounded, Requested: size, State: trace.Allocated})
	o.next += uint64(rounded)
}

func (o *ownRules) free(i int) {
	b := o.blocks[i]
	o.blocks = slices.Delete(o.blocks, i, i+1)
	e := trace.Event{Kind: trace.Free, Addr: b.Addr, Size: b.Requested, Stack: trace.EmptyStack}
	e.SetSlack(uint64(b.Size - b.Requested))
	o.events = append(o.events, e)
}

func TestBlocksOfOtherRulesHaveTheSizesThatEventsSay(t *testing.T) {
	const begin, bytes = 0x100_0000, 2 << 20
	rnd := rand.New(rand.NewPCG(1, 0))
	o := &ownRules{next: begin}
	for range 500 {
		if o.alloc(1 + rnd.Int64N(1000)); rnd.IntN(3) == 0 {
			o.free(rnd.IntN(len(o.blocks)))
		}
	}
	in := trace.NewInterner()
	f := trace.NewFollower(in, 0)
	f.Describe(trace.Info{}, nil)
	base := trace.State{Segments: []trace.Segment{{
		Addr: begin, Size: bytes, Given: 0xfff,
		SegmentFacts: trace.SegmentFacts{Type: in.String("small")}, Blocks: []trace.Block{{Addr: begin, Size: bytes}},
	}}}
	f.Base(0, 0, base, 0, "")
	f.Append(0, o.events)
	if p := f.Problems(); p.Count > 0 {
		t.Fatal(p.First[0])
	}
	tr := f.Publish(nil, nil)
	d := tr.Device(0)
	live := liveBlocks(&d.Final)
	slices.SortFunc(o.blocks, func(a, b trace.Block) int { return cmp.Compare(a.Addr, b.Addr) })
	if diff := gocmp.Diff(o.blocks, live); diff != "" {
		t.Fatalf("forward (-real +played):\n%.2000s", diff)
	}
	checkSizes(t, tr, d)
	back := trace.NewRewinder(tr, d)
	back.To(len(o.events) / 2)
	half := back.State()
	f = trace.NewFollower(in, 0)
	f.Describe(trace.Info{}, nil)
	f.Base(0, 0, base, 0, "")
	f.Append(0, o.events[:len(o.events)/2+1])
	if diff := gocmp.Diff(liveBlocks(&f.Publish(nil, nil).Devices[0].Final), liveBlocks(&half)); diff != "" {
		t.Errorf("backward (-played +undone):\n%.2000s", diff)
	}
}

// checkSizes compares the size of each allocation's block with its event.
func checkSizes(t *testing.T, tr *trace.Trace, d *trace.Device) {
	t.Helper()
	life := trace.NewLifetimes()
	life.Begin(d.Base)
	life.Advance(d.Events)
	sizes := trace.NewBlockSizes(tr, d, life)
	for i := range d.Events.Len() {
		if e := d.Events.At(i); e.Kind == trace.Alloc {
			a := life.Allocation(trace.AllocationID(i))
			if want, _ := e.BlockSize(); sizes.Of(&a) != want {
				t.Fatalf("the block of event %d has %d bytes, want %d", i, sizes.Of(&a), want)
			}
		}
	}
}

// liveBlocks returns where live blocks are and how large.
func liveBlocks(s *trace.State) []trace.Block {
	var live []trace.Block
	for i := range s.Segments {
		for _, b := range s.Segments[i].Blocks {
			if b.State.Live() {
				live = append(live, trace.Block{Addr: b.Addr, Size: b.Size, Requested: b.Requested, State: b.State})
			}
		}
	}
	return live
}

func TestHostileSlackChangesNothing(t *testing.T) {
	f := trace.NewFollower(trace.NewInterner(), 0)
	f.Describe(trace.Info{}, nil)
	f.Base(0, 0, trace.State{Segments: []trace.Segment{{Addr: 512, Size: 4096, Blocks: []trace.Block{{Addr: 512, Size: 4096}}}}}, 0, "")
	var events []trace.Event
	for _, size := range []int64{-1, 1, 1 << 40, 1<<63 - 1, -1 << 63} {
		e := trace.Event{Kind: trace.Alloc, Addr: 512, Size: size}
		e.SetSlack(1<<64 - 1)
		events = append(events, e, trace.Event{Kind: trace.Free, Addr: 512, Size: size, Slack: 1 << 31})
	}
	f.Append(0, events)
	tr := f.Publish(nil, nil)
	if s := tr.Devices[0].Final; s.Reserved() != 4096 || len(liveBlocks(&s)) != 0 {
		t.Errorf("the state is %s", layout(&s))
	}
	_, _ = trace.Rewind(tr, tr.Device(0)) // must end
}
