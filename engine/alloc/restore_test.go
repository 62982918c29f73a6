package alloc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

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
