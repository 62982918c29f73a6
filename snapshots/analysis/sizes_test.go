package analysis

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// checkSizes compares the sizes found for blocks that were allocated in the
// trace and are live at its end with the writer's.
func checkSizes(t *testing.T, x *Index) {
	t.Helper()
	for i := range x.SegmentsAt(x.End()).Segments {
		for _, b := range x.SegmentsAt(x.End()).Segments[i].Blocks {
			if b.Known && b.Allocation >= 0 {
				a := x.life.Allocation(b.Allocation)
				if got := x.blockSizes().Of(&a); got != b.Size {
					t.Errorf("event %d asked for %d bytes: found %d, the block has %d", a.Open, a.Size, got, b.Size)
				}
			}
		}
	}
}

func TestSizesOfBlocksAreExact(t *testing.T) {
	forRandom(t, func(t *testing.T, x *Index, _ naive) {
		t.Helper()
		checkSizes(t, x)
	})
}

func TestHeldBlocksShowTheirRestWhenTheNextBlockBegins(t *testing.T) {
	// A block of 3 MiB and 256 KiB from before, with a free block behind it from
	// whose front event 0 allocates.
	x := indexOf(t, tracetest.Frames+`
device 0
alloc 0x10340000 2097152 stack=act
free_requested 0x10000000 3145728
free_completed 0x10000000 3145728
segment 0x10000000 20971520 stream=0 type="large"
block 0x10000000 3407872 inactive
block 0x10340000 2097152 active_allocated requested=2097152 stack=act
block 0x10540000 15466496 inactive
`)
	if got := x.SegmentsAt(-1).Segments[0].Blocks[0].Size; got != 3407872 {
		t.Errorf("before the first event the block has %d bytes, want 3407872", got)
	}
}
