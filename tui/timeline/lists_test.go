package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
)

// TestAMovedListEqualsTheWholeOne compares every field of every row, order
// among equals included, from anywhere to anywhere.
func TestAMovedListEqualsTheWholeOne(t *testing.T) {
	tr := tuitest.Large(4000)
	x := analysis.NewIndex(tr, &tr.Devices[0])
	if _, ok := x.Arrivals(0, 1); !ok {
		t.Fatal("lists of this trace are never moved")
	}
	r := rand.New(rand.NewPCG(1, 2))
	var from *aliveList
	for range 150 {
		at := r.IntN(x.End()+2) - 1
		want := aliveAt(t.Context(), aliveQuestion{index: page.Edition{Index: x}, at: at})
		from = aliveAt(t.Context(), aliveQuestion{index: page.Edition{Index: x}, at: at, from: from})
		if from.at != at || !slices.Equal(from.items, want.items) {
			t.Fatalf("moved to event %d: %d rows, which are not the %d of the whole list", at, len(from.items), len(want.items))
		}
	}
}
