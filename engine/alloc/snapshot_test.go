package alloc

import (
	"bytes"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// training returns a trace with everything in it that there is.
func training(t *testing.T, o Options) *trace.Trace {
	t.Helper()
	o.Limit, o.History = 600*mib, 1<<20
	p := newProgram(t, 11, o)
	for range 4000 {
		p.step()
	}
	kept := p.a.Tag(Label{trace.Activation, "blocks.2.attn", "softmax probs", "[4, 12, 64, 64]", "bf16"})
	b, err := p.a.Alloc(4*12*64*64*2, 0, kept)
	fatal.If(t, err)
	defer p.a.Free(b)
	return p.a.Snapshot()
}

func pickled(t *testing.T, tr *trace.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, pytorch.Write(&b, tr))
	return b.Bytes()
}

// TestSnapshotsSurviveThePickle writes a snapshot as PyTorch does and reads it
// back: nothing is lost, tags included.
func TestSnapshotsSurviveThePickle(t *testing.T) {
	tr := training(t, Options{Stacks: true, Config: "roundup_power2_divisions:[4:2,>:4]"})
	back, err := pytorch.Decode(t.Context(), bytes.NewReader(pickled(t, tr)), pytorch.Options{})
	fatal.If(t, err)
	// Events that say their pool, as those of private pools' segments do, make it
	// the layout of a later version.
	if back.Info.Writer != "memtop, as PyTorch 2.12–2.13" {
		t.Errorf("the layout is that of %s", back.Info.Writer)
	}
	// What a file of that version cannot say, and what only a file has.
	want := *tr
	want.Info = back.Info
	want.Devices = []trace.Device{tr.Devices[0]}
	want.Devices[0].MaxEvents, want.Devices[0].Overflowed = 0, false
	if diff := cmp.Diff(tracetest.Text(t, &want), tracetest.Text(t, back)); diff != "" {
		t.Errorf("after the trip (-before +after):\n%.2000s", diff)
	}
	if got := labelled(back, "blocks.2.attn"); got != "activation softmax probs [4, 12, 64, 64] bf16" {
		t.Errorf("the label of the layer's block: %q", got)
	}
}

// labelled returns what the note of a layer's live block says.
func labelled(tr *trace.Trace, layer string) string {
	s := tr.Tables.Strings
	for _, segment := range tr.Devices[0].Final.Segments {
		for _, b := range segment.Blocks {
			if n := tr.Tables.Notes[b.Note]; b.State.Live() && s[n.Layer] == layer {
				return s[n.Category] + " " + s[n.Role] + " " + s[n.Shape] + " " + s[n.DType]
			}
		}
	}
	return ""
}

func TestDevicesThatShareNamesFitInOneTrace(t *testing.T) {
	names := NewNames()
	second := newAllocator(t, newMemory(t, gib), Options{Device: 1, Names: names, History: 10})
	first := newAllocator(t, newMemory(t, gib), Options{Device: 0, Names: names, History: 10})
	tag := first.Tag(Label{Category: trace.Input, Layer: "data"})
	for _, a := range []*Allocator{first, second} {
		if _, err := a.Alloc(512, 3, tag); err != nil {
			t.Fatal(err)
		}
	}
	tr := Snapshot(second, first)
	if len(tr.Devices) != 2 || tr.Devices[0].ID != 0 || tr.Devices[1].ID != 1 || tr.Info.TraceLists != 2 {
		t.Errorf("devices: %+v", tr.Devices)
	}
	for _, p := range tracetest.Check(tr).First {
		t.Error(p)
	}
	if got := Snapshot(); len(got.Devices) != 0 || got.Tables == nil {
		t.Errorf("of no device: %+v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("devices with different names: no panic")
		}
	}()
	Snapshot(first, newAllocator(t, newMemory(t, gib), Options{}))
}

// TestRestoredMemoryIsWhatItWas restores the state of random programs, with pending
// frees and private pools, and frees all of it.
func TestRestoredMemoryIsWhatItWas(t *testing.T) {
	for name, config := range map[string]string{"the defaults": "", "expandable segments": "expandable_segments:True"} {
		t.Run(name, func(t *testing.T) {
			pending, private := int64(0), 0
			for seed := range uint64(5) {
				p := newProgram(t, seed, Options{Config: config})
				for range 700 {
					p.step()
				}
				was := p.a.Snapshot()
				d := newMemory(t, 700<<20)
				a := newAllocator(t, d, Options{Config: config})
				blocks, err := a.Restore(was.Tables, &was.Devices[0].Final, 9)
				fatal.If(t, err)
				checkRecount(t, a)
				is := a.Snapshot()
				if diff := cmp.Diff(held(was), held(is)); diff != "" {
					t.Fatalf("seed %d (-was +is):\n%.2000s", seed, diff)
				}
				stats := a.Stats()
				pending += stats.Breakdown().PendingFree
				private += len(a.private)
				for _, b := range blocks {
					a.Free(b)
				}
				d.finish(9)
				a.Poll()
				if stats = a.Stats(); stats.Active.All.Current != 0 {
					t.Errorf("%d blocks are active after all were freed", stats.Active.All.Current)
				}
				checkRecount(t, a)
			}
			if pending == 0 || private == 0 {
				t.Errorf("%d bytes were pending, %d private pools: the programs are too tame", pending, private)
			}
		})
	}
}

// held is a trace's final state without its names for things.
func held(tr *trace.Trace) []trace.Segment {
	list := tr.Devices[0].Final.Segments
	for i := range list {
		s := &list[i]
		pool, stream := tr.Tables.Pools[s.Pool], tr.Tables.Streams[s.Stream]
		s.Pool, s.Stream, s.Stack = trace.PoolID(pool[0]<<8|pool[1]), trace.StreamID(stream), 0
		s.Type = trace.StringID(len(tr.Tables.Strings[s.Type]) + int(tr.Tables.Strings[s.Type][0]))
		for k := range s.Blocks {
			b := &s.Blocks[k]
			b.Stack, b.Note, b.Requested = 0, 0, b.LiveRequested()
		}
	}
	return list
}

func TestAStateThatContradictsItselfIsRefused(t *testing.T) {
	block := func(addr uint64, size int64) trace.Block { return trace.Block{Addr: addr, Size: size} }
	for name, segments := range map[string][]trace.Segment{
		"segments that overlap": {
			{Addr: 1 << 20, Size: 2 << 20, Blocks: []trace.Block{block(1<<20, 2<<20)}},
			{Addr: 2 << 20, Size: 2 << 20, Blocks: []trace.Block{block(2<<20, 2<<20)}},
		},
		"a segment around the end of all addresses": {{Addr: 1<<64 - 512, Size: 1024}},
		"a segment of nothing":                      {{Addr: 1 << 20}},
		"blocks with a gap":                         {{Addr: 1 << 20, Size: 2048, Blocks: []trace.Block{block(1<<20, 512), block(1<<20+1024, 1024)}}},
		"blocks that end early":                     {{Addr: 1 << 20, Size: 2048, Blocks: []trace.Block{block(1<<20, 512)}}},
		"a block beyond its segment":                {{Addr: 1 << 20, Size: 2048, Blocks: []trace.Block{block(1<<20, 4096)}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAllocator(t, newMemory(t, gib), Options{})
			if _, err := a.Restore(&trace.NewInterner().Tables, &trace.State{Segments: segments}, 9); err == nil {
				t.Error("it is taken for a state")
			}
		})
	}
}
