package alloc

import (
	"testing"
)

func expandable(t *testing.T) (*memory, *Allocator) {
	t.Helper()
	d := newMemory(t, gib)
	return d, newAllocator(t, d, Options{Config: "expandable_segments:True", History: 1000})
}

// TestAReserveEndsAnExpandableSegment has what PyTorch 2.15 does: a range of the
// reserve in whole pages, the next range where one is full, and no memory for a
// request that is larger.
func TestAReserveEndsAnExpandableSegment(t *testing.T) {
	for name, setting := range map[string]string{"in GiB": "0.0625G", "a part": "0.0625"} {
		t.Run(name, func(t *testing.T) {
			d := newMemory(t, gib)
			a := newAllocator(t, d, Options{Config: "expandable_segments:True,expandable_segments_reserve:" + setting, History: 1000})
			first, second := must(t, a, 40*mib), must(t, a, 40*mib)
			if got := d.ranges[first.Addr()]; got != 80*mib {
				t.Errorf("a range of %d bytes, want 64 MiB in pages of 20", got)
			}
			if want := first.Addr() + uint64(40*mib); second.Addr() != want {
				t.Errorf("the second block is at %#x, want %#x, where the range has room", second.Addr(), want)
			}
			if third := must(t, a, 40*mib); d.ranges[third.Addr()] != 80*mib {
				t.Error("a full range is followed by none")
			}
			must(t, a, 80*mib)
			mustFail(t, a, 80*mib+512)
			configure(t, a, "expandable_segments_reserve:2")
			if got := d.ranges[must(t, a, 100*mib).Addr()]; got != 1160*mib {
				t.Errorf("a reserve of twice the memory makes a range of %d bytes, want 9/8 of the memory", got)
			}
		})
	}
}

func TestAHoleIsUsedBeforeTheTailThatCanGrow(t *testing.T) {
	_, a := expandable(t)
	first := must(t, a, 20*mib)
	hole := first.Addr()
	for range 4 {
		must(t, a, 20*mib)
	}
	must(t, a, 15*mib) // leaves 5 MiB before the unmapped addresses
	a.Free(first)      // leaves 20 MiB: more, but no more to come
	if got := must(t, a, 4*mib); got.Addr() != hole {
		t.Errorf("got %#x, want the hole at %#x", got.Addr(), hole)
	}
}
