package alloc

import (
	"bytes"
	"maps"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// window is a step of a random program: what a snapshot after it has, and what the
// allocator counted.
type window struct {
	t        *trace.Trace
	begun    trace.Begun
	requests int64
	stats    Stats
}

// requested returns how many blocks were asked for and given back.
func requested(s Stats) int64 { return s.Allocation.All.Allocated + s.Allocation.All.Freed }

// next makes calls, and returns the window of them, as PyTorch would write it.
func (p *program) next(calls int) window {
	p.t.Helper()
	p.a.ResetPeak()
	before, state := p.a.Stats(), p.a.State(nil)
	w := window{begun: trace.Begun{Reserved: before.Reserved(), Blocks: make(map[uint64]int64)}}
	for _, b := range state.Live() {
		w.begun.Blocks[b.Addr] = b.Size
	}
	for range calls {
		p.step()
	}
	w.stats = p.a.Stats()
	w.requests = requested(w.stats) - requested(before)
	t, err := pytorch.Decode(p.t.Context(), bytes.NewReader(pickled(p.t, p.a.Snapshot())), pytorch.Options{})
	fatal.If(p.t, err)
	w.t = t
	return w
}

func (w *window) blocks() (*trace.StepBlocks, error) {
	return trace.NewStepBlocks(w.t, &w.t.Devices[0], w.begun, w.requests)
}

func TestTheBlocksOfAStepHaveTheAllocatorsPeaks(t *testing.T) {
	for name, o := range map[string]Options{
		"segments":            {},
		"expandable segments": {Config: "expandable_segments:True"},
		"rounded requests":    {Config: "roundup_power2_divisions:4"},
	} {
		t.Run(name, func(t *testing.T) {
			o.Limit, o.History = 600*mib, 1<<16
			p := newProgram(t, 5, o)
			for range 12 {
				w := p.next(300)
				got, err := w.blocks()
				fatal.If(t, err)
				if want := [2]int64{w.stats.AllocatedBytes.All.Peak, w.stats.ReservedBytes.All.Peak}; want != [2]int64{got.Peak, got.PeakReserved} {
					t.Errorf("peaks of %d and %d bytes, the allocator counted %v", got.Peak, got.PeakReserved, want)
				}
				if int64(len(got.Changes)) != w.requests {
					t.Errorf("%d changes of %d requests", len(got.Changes), w.requests)
				}
			}
		})
	}
}

func TestTheBlocksOfAStepAreNotGuessed(t *testing.T) {
	p := newProgram(t, 7, Options{Limit: 600 * mib, History: 1 << 16})
	p.next(300)
	w := p.next(300)
	for name, change := range map[string]func(*window){
		"a history that is too short":      func(w *window) { w.requests = int64(w.t.Devices[0].Events.Len()) },
		"a block that was not there":       func(w *window) { w.begun.Blocks[1] = trace.MinBlock },
		"a block of which nothing is said": func(w *window) { clear(w.begun.Blocks) },
		"blocks of other sizes":            func(w *window) { grow(w.begun.Blocks) },
		"a segment that was not there":     func(w *window) { w.begun.Reserved++ },
	} {
		t.Run(name, func(t *testing.T) {
			other := w
			other.begun.Blocks = maps.Clone(w.begun.Blocks)
			change(&other)
			if got, err := other.blocks(); err == nil {
				t.Errorf("a peak of %d bytes is known", got.Peak)
			}
		})
	}
}

func grow(sizes map[uint64]int64) {
	for addr := range sizes {
		sizes[addr] += trace.MinBlock
	}
}
