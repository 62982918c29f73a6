package analysis

import (
	"testing"
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
