package alloc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePeakIsExplained(t *testing.T) {
	a := newAllocator(t, newMemory(t, 1<<30), Options{})
	malloc := func(n int64, c Category) Block {
		t.Helper()
		b, err := a.Alloc(n, 0, a.Tag(Label{Category: c}))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := func(when string, sums map[Category]int64) {
		t.Helper()
		var all [CategoryCount]int64
		for c, n := range sums {
			all[c] = n
		}
		s := a.Stats()
		if diff := cmp.Diff(all, s.CategoryAtPeak); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	weight := malloc(1000, Parameter)
	scratch := malloc(5000, Workspace)
	want("on the way up", map[Category]int64{Parameter: 1000, Workspace: 5000})
	a.Retag(scratch, a.Tag(Label{Category: Activation}))
	want("a change at the peak", map[Category]int64{Parameter: 1000, Activation: 5000})
	a.Free(scratch)
	malloc(2000, Gradient)
	want("below the peak", map[Category]int64{Parameter: 1000, Activation: 5000})
	a.Free(weight)
	a.ResetPeak()
	want("after a reset", map[Category]int64{Gradient: 2000})
}
