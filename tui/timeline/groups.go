package timeline

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// group is a row of the left list: a band, a stack or an allocation, or on the
// first row all of them.
type group struct {
	name   string
	letter rune
	role   screen.Role
	bytes  int64
	count  int
	all    bool
	band   int
	stack  stackKey
	id     trace.AllocationID
}

// groups makes the rows of the left list.
func (q *listQuestion) groups(scope []int32) []group {
	total := group{name: "everything alive", all: true, letter: ' ', count: len(scope), band: allBands}
	for _, i := range scope {
		total.bytes += q.alive.items[i].Size
	}
	var groups []group
	switch q.step {
	case inStack:
		groups, total.name = q.allocationGroups(scope), "all of this stack"
	case inBand:
		groups, total.name = q.stackGroups(scope), "all of "+q.bandName
	case inAll:
		groups = q.bandGroups(scope)
	}
	return append([]group{total}, groups...)
}

// bandGroups adds up the bands, in the order of the chart from top to bottom. A
// band without height on the chart has no row: on a small screen it would take
// the place of a band with memory.
func (q *listQuestion) bandGroups(scope []int32) []group {
	groups := make([]group, len(q.chart.Bands))
	for i := range q.chart.Bands {
		b := &q.chart.Bands[i]
		groups[i] = group{name: b.Name, letter: bandLetter(b, i, q.by), role: bandRole(b, i, q.by), band: i, stack: stackKey{id: b.Stack}, id: b.Allocation}
	}
	for _, i := range scope {
		it := &q.alive.items[i]
		if b := q.bandOf(it); b >= 0 {
			groups[b].bytes += it.Size
			groups[b].count++
		}
	}
	slices.Reverse(groups)
	return slices.DeleteFunc(groups, func(g group) bool { return g.count == 0 && !q.charts(g.band) })
}

// charts reports whether a band has any height in the chart.
func (q *listQuestion) charts(band int) bool {
	return slices.ContainsFunc(q.chart.Columns, func(c analysis.Column) bool { return band < len(c.Bands) && c.Bands[band] > 0 })
}

// stackGroups adds up the stacks of the scope, the largest first.
func (q *listQuestion) stackGroups(scope []int32) []group {
	at := make(map[stackKey]int)
	var groups []group
	for _, i := range scope {
		it := &q.alive.items[i]
		k, ok := at[it.stack()]
		if !ok {
			k = len(groups)
			at[it.stack()] = k
			groups = append(groups, group{
				name: q.alive.names.Stack(q.index.Index, it.Stack, it.FreeStack), stack: it.stack(), letter: ' ', role: itemRole(it),
			})
		}
		groups[k].bytes += it.Size
		groups[k].count++
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(b.bytes, a.bytes) })
	return groups
}

func (q *listQuestion) allocationGroups(scope []int32) []group {
	groups := make([]group, len(scope))
	for k, i := range scope {
		it := &q.alive.items[i]
		groups[k] = group{name: madeText(it), bytes: it.Size, letter: ' ', stack: it.stack(), id: it.ID, role: itemRole(it)}
	}
	return groups
}

func madeText(it *item) string {
	if it.Open < 0 {
		return screen.Address(it.Addr) + " from before recording"
	}
	return screen.Address(it.Addr) + " made by event " + screen.Count(it.Open)
}

func itemRole(it *item) screen.Role {
	if it.held {
		return screen.Held
	}
	return screen.Band(it.category.Place())
}
