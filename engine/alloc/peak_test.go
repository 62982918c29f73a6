package alloc

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

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
		if diff := cmp.Diff(all, s.CategoryAtPeak); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
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
