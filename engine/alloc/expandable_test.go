package alloc

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func expandable(t *testing.T) (*memory, *Allocator) {
	t.Helper()
	d := newMemory(t, gib)
	return d, newAllocator(t, d, Options{Config: "expandable_segments:True", History: 1000})
}

func TestAnExpandableSegmentGrowsByPages(t *testing.T) {
	d, a := expandable(t)
	first := must(t, a, 5*mib)
	second := must(t, a, 30*mib)
	if second.Addr() != first.Addr()+uint64(5*mib) {
		t.Errorf("the second block is at %#x, want right after the first at %#x", second.Addr(), first.Addr())
	}
	if got, want := sizes(a, trace.SegmentMap), []int64{20 * mib, 20 * mib}; !slices.Equal(got, want) {
		t.Errorf("mapped %v, want %v", got, want)
	}
	stats := a.Stats()
	if stats.Reserved() != 40*mib || stats.Segment.All.Current != 0 || stats.InactiveSplit.All.Current != 0 {
		t.Errorf("reserved %d, segments %d, inactive %d", stats.Reserved(), stats.Segment.All.Current, stats.InactiveSplit.All.Current)
	}
	if got := d.ranges[first.Addr()]; got != 1160*mib {
		t.Errorf("reserved %d bytes of addresses, want 9/8 of the device in pages", got)
	}
	if got := must(t, a, 512); d.ranges[got.Addr()] == 0 {
		t.Error("small requests share the range of large ones")
	}
	checkRecount(t, a)
}

func TestOnlyWholeFreePagesAreUnmapped(t *testing.T) {
	d, a := expandable(t)
	low, high := must(t, a, 50*mib), must(t, a, 25*mib)
	base := low.Addr()
	a.Free(low)
	a.EmptyCache()
	if got, want := sizes(a, trace.SegmentUnmap), []int64{40 * mib}; !slices.Equal(got, want) {
		t.Errorf("unmapped %v, want %v", got, want)
	}
	final := a.Snapshot().Devices[0].Final.Segments
	if len(final) != 1 || final[0].Addr != base+uint64(40*mib) || final[0].Size != 40*mib || !final[0].Expandable {
		t.Errorf("the snapshot has %+v", final)
	}
	again := must(t, a, 30*mib)
	if again.Addr() != base {
		t.Errorf("got %#x, want the lowest address with room, %#x", again.Addr(), base)
	}
	checkRecount(t, a)
	a.Free(again)
	a.Free(high)
	a.EmptyCache()
	if len(d.ranges) != 0 || d.used != 0 {
		t.Errorf("at the end %d ranges and %d bytes are left", len(d.ranges), d.used)
	}
}

func TestAnExpandableSegmentIsFullWhenTheDeviceIs(t *testing.T) {
	d, a := expandable(t)
	d.used = gib - 70*mib
	b := must(t, a, 50*mib)
	addr := b.Addr()
	mustFail(t, a, 30*mib)
	a.Free(b)
	c := must(t, a, 60*mib)
	if c.Addr() != addr {
		t.Errorf("got %#x, want the free block at %#x", c.Addr(), addr)
	}
	checkRecount(t, a)
}

// A failed request leaves a range without memory. Where the driver puts that range
// decides which is filled first.
func TestTheLowestRangeIsFilledFirst(t *testing.T) {
	for name, below := range map[string]bool{"the new range is above": false, "the new range is below": true} {
		t.Run(name, func(t *testing.T) {
			d, a := expandable(t)
			if below {
				d.ranges[firstRange] = 1 // taken until the second range is reserved
			}
			first := must(t, a, 600*mib)
			if below {
				delete(d.ranges, firstRange)
			}
			mustFail(t, a, 700*mib)
			if got := must(t, a, 20*mib); (got.Addr() < first.Addr()) != below {
				t.Errorf("got %#x, the first range is at %#x", got.Addr(), first.Addr())
			}
			checkRecount(t, a)
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

func TestExpandableBlocksArePassedOverWhenTheSettingIsOff(t *testing.T) {
	_, a := expandable(t)
	b := must(t, a, 30*mib)
	addr := b.Addr()
	a.Free(b)
	configure(t, a, "expandable_segments:False")
	other := must(t, a, 30*mib)
	plain := other.Addr()
	if plain == addr {
		t.Error("an expandable block was used")
	}
	a.Free(other)
	if again := must(t, a, 30*mib); again.Addr() != plain {
		t.Error("the other block was not used again")
	}
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
