package analysis

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTimelineBandsSumToTheLevel(t *testing.T) {
	forRandom(t, func(t *testing.T, x *Index, want naive) {
		t.Helper()
		r := rand.New(rand.NewPCG(uint64(x.End()), 7))
		for range 20 {
			from := r.IntN(x.End() + 1)
			to := from + 1 + r.IntN(x.End()+1-from)
			columns := 1 + r.IntN(60)
			for _, line := range []Timeline{x.Timeline(from, to, columns), x.TimelineByTime(from, to, columns)} {
				checkTimeline(t, line, want.requested, want.reserved)
				line.SplitByAllocation(x, 10)
				checkTimeline(t, line, want.requested, want.reserved)
			}
		}
	})
}

// checkTimeline checks each column against levels of which entry i+1 is right
// after event i.
func checkTimeline(t *testing.T, line Timeline, levels, reserved []int64) {
	t.Helper()
	var highest int64
	for c, column := range line.Columns {
		if len(column.Bands) != len(line.Bands) {
			t.Fatalf("column %d has %d bands of %d", c, len(column.Bands), len(line.Bands))
		}
		if got := sum(column.Bands); got != column.Total || got != levels[column.At+1] {
			t.Fatalf("column %d at event %d: bands sum to %d, total is %d, want %d", c, column.At, got, column.Total, levels[column.At+1])
		}
		if column.Reserved != reserved[column.At+1] {
			t.Fatalf("column %d at event %d: reserved %d, want %d", c, column.At, column.Reserved, reserved[column.At+1])
		}
		for i := column.From; i < column.To; i++ {
			if levels[i+1] > column.Total {
				t.Fatalf("column %d [%d, %d): total %d, but %d after event %d", c, column.From, column.To, column.Total, levels[i+1], i)
			}
		}
		for b, bytes := range column.Bands {
			if bytes < 0 {
				t.Fatalf("column %d at event %d: band %q is %d", c, column.At, line.Bands[b].Name, bytes)
			}
		}
		highest = max(highest, column.Total)
	}
	if highest != line.Max {
		t.Fatalf("highest column is %d, Max says %d", highest, line.Max)
	}
}

func TestCategoriesSumToTheLevel(t *testing.T) {
	forRandom(t, func(t *testing.T, x *Index, want naive) {
		t.Helper()
		for at := -1; at <= x.End(); at++ {
			series, counted := x.CategoriesAt(at), CategoriesOf(x.RulesAt(at))
			if series != counted {
				t.Fatalf("after event %d: the series says %v, a count %v", at, series, counted)
			}
			if got := sum(series[:]); got != want.requested[at+1] {
				t.Fatalf("after event %d: categories sum to %d, want %d", at, got, want.requested[at+1])
			}
		}
	})
}

func TestLevelsOfStacksSumToTheLevel(t *testing.T) {
	forRandom(t, func(t *testing.T, x *Index, want naive) {
		t.Helper()
		for at := -1; at <= x.End(); at += 5 {
			for _, o := range []StackOptions{{}, {InnermostFirst: true}, {HideRuntime: true}} {
				tree := x.Stacks(at, o)
				if tree.Bytes != want.requested[at+1] || tree.Count != len(want.alive[at+1]) {
					t.Fatalf("after event %d: tree of %d bytes in %d, want %d in %d", at, tree.Bytes, tree.Count, want.requested[at+1], len(want.alive[at+1]))
				}
				checkNode(t, tree.Root)
			}
			var held int64
			for _, h := range x.HoldersAt(at) {
				held += h.Bytes
			}
			if held != want.requested[at+1] {
				t.Fatalf("after event %d: holders sum to %d, want %d", at, held, want.requested[at+1])
			}
		}
	})
}

func checkNode(t *testing.T, n *Node) {
	t.Helper()
	below, last := n.Self, int64(1)<<62
	for _, child := range n.Children {
		if child.Bytes > last {
			t.Fatalf("children of %q are out of order", n.Label)
		}
		last = child.Bytes
		below += child.Bytes
		checkNode(t, child)
	}
	if below != n.Bytes {
		t.Fatalf("%q holds %d, its parts %d", n.Label, n.Bytes, below)
	}
}

func TestCategoryPeaksAreTheHighestOfEveryMoment(t *testing.T) {
	forRandom(t, func(t *testing.T, x *Index, _ naive) {
		t.Helper()
		want := make([]int64, len(x.CategoryPeaks()))
		for event := -1; event <= x.End(); event++ {
			for band, bytes := range x.Timeline(event+1, event+1, 1).Columns[0].Bands {
				want[band] = max(want[band], bytes)
			}
		}
		if got := x.CategoryPeaks(); !slices.Equal(got, want) {
			t.Errorf("the highest of each category is %d, want %d", got, want)
		}
	})
}

func sum(values []int64) int64 {
	var total int64
	for _, v := range values {
		total += v
	}
	return total
}
