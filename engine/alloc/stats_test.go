package alloc

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestCountersMeanWhatPyTorchsDo goes through one life of a block and looks at
// every counter that moves.
func TestCountersMeanWhatPyTorchsDo(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{})
	first := must(t, a, 1000)
	second := must(t, a, 5*mib)
	a.Free(first)
	stats := a.Stats()
	for name, test := range map[string]struct{ got, want int64 }{
		"small blocks now":                  {stats.Allocation.Small().Current, 0},
		"small blocks at the peak":          {stats.Allocation.Small().Peak, 1},
		"blocks handed out":                 {stats.Allocation.All.Allocated, 2},
		"blocks freed":                      {stats.Allocation.All.Freed, 1},
		"bytes of large blocks":             {stats.AllocatedBytes.Large().Current, 5 * mib},
		"bytes at the peak":                 {stats.AllocatedBytes.All.Peak, 5*mib + 1024},
		"bytes that small requests had":     {stats.RequestedBytes.Small().Allocated, 1000},
		"bytes requested":                   {stats.RequestedBytes.All.Current, 5 * mib},
		"bytes reserved":                    {stats.ReservedBytes.All.Current, 22 * mib},
		"segments":                          {stats.Segment.All.Current, 2},
		"the rest of the large segment":     {stats.InactiveSplit.All.Current, 1},
		"the small segment is whole again":  {stats.InactiveSplit.Small().Current, 0},
		"its rest":                          {stats.InactiveSplit.Small().Freed, 1},
		"bytes of the large rest":           {stats.InactiveSplitBytes.Large().Current, 15 * mib},
		"bytes of the small rest, at most":  {stats.InactiveSplitBytes.Small().Peak, 2*mib - 1024},
		"calls that got memory":             {stats.DeviceAllocs, 2},
		"calls that gave memory back":       {stats.DeviceFrees, 0},
		"the largest block to split is any": {stats.MaxSplitSize, -1},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d, want %d", name, test.got, test.want)
		}
	}
	a.ResetPeak()
	stats = a.Stats()
	stats.each(func(c *Counter) {
		if c.Peak != c.Current {
			t.Errorf("after the reset a peak is %d, current %d", c.Peak, c.Current)
		}
	})
	a.Free(second)
}

func TestThePeakIsExplained(t *testing.T) {
	a := newAllocator(t, newMemory(t, 1<<30), Options{})
	malloc := func(n int64, c trace.Category) Allocation {
		t.Helper()
		b, err := a.Alloc(n, 0, a.Tag(Label{Category: c}))
		fatal.If(t, err)
		return b
	}
	want := func(when string, sums map[trace.Category]int64) {
		t.Helper()
		var all [trace.CategoryCount]int64
		for c, n := range sums {
			all[c] = n
		}
		s := a.Stats()
		equal.Values(t, when, all, s.CategoryAtPeak)
	}
	weight := malloc(1000, trace.Parameter)
	scratch := malloc(5000, trace.Workspace)
	want("on the way up", map[trace.Category]int64{trace.Parameter: 1000, trace.Workspace: 5000})
	a.Retag(scratch, a.Tag(Label{Category: trace.Activation}))
	want("a change at the peak", map[trace.Category]int64{trace.Parameter: 1000, trace.Activation: 5000})
	a.Free(scratch)
	malloc(2000, trace.Gradient)
	want("below the peak", map[trace.Category]int64{trace.Parameter: 1000, trace.Activation: 5000})
	a.Free(weight)
	a.ResetPeak()
	want("after a reset", map[trace.Category]int64{trace.Gradient: 2000})
}
