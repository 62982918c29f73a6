package timeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// item is a live allocation at the cursor.
type item struct {
	trace.Allocation
	category trace.Category
	held     bool // older than the recording, use unknown
}

// stackKey identifies a stack of a band. The stack that freed memory from before
// recording differs from a stack that made memory.
type stackKey struct {
	id    trace.StackID
	freed bool
}

func (it *item) stack() stackKey { return stackKey{it.Stack, it.FreeStack} }

// aliveQuestion asks for the live allocations right after an event.
type aliveQuestion struct {
	index page.Edition
	at    int
}

// aliveList is the live allocations at an event, the largest first and among
// equals the oldest first.
type aliveList struct {
	items []item
	names page.Names // of the items' stacks
}

func aliveAt(_ context.Context, q aliveQuestion) *aliveList {
	alive := q.index.AliveAt(q.at)
	list, stacks := &aliveList{items: make([]item, len(alive))}, make([]trace.StackID, len(alive))
	for i, a := range alive {
		list.items[i], stacks[i] = itemOf(q.index.Index, a), a.Stack
	}
	list.names = analysis.NamesOf(q.index.Index, stacks)
	return list
}

func itemOf(x *analysis.Index, a trace.Allocation) item {
	c, rule := x.Category(a)
	return item{a, c, a.Open < 0 && rule.Unplaced()}
}

// step is how far the user has gone down from a band.
type step uint8

const (
	inAll   step = iota // the bands are listed
	inBand              // the stacks of a band
	inStack             // the allocations of a stack
)

// allBands stands for a band where all of them are meant.
const allBands = -1

// listQuestion is the input for the lists under the chart.
type listQuestion struct {
	index    page.Edition
	alive    *aliveList
	chart    *analysis.Timeline
	by       banding
	step     step
	band     int
	bandName string
	stack    stackKey
	row      int
	filter   string
	byAge    bool
	inverse  bool
}

// lists is the content under the chart.
type lists struct {
	groups []group
	alive  []int32 // items of the selected group, in order
}

// makeLists runs in a command: there may be a hundred thousand items.
func makeLists(ctx context.Context, q listQuestion) *lists {
	scope := q.scope()
	if ctx.Err() != nil {
		return nil
	}
	l := &lists{groups: q.groups(scope)}
	row := min(q.row, len(l.groups)-1)
	for _, i := range scope {
		if q.inGroup(&l.groups[row], &q.alive.items[i]) {
			l.alive = append(l.alive, i)
		}
	}
	q.sort(l.alive)
	return l
}

// scope returns the items of the opened band or stack that pass the filter.
func (q *listQuestion) scope() []int32 {
	in := make([]int32, 0, len(q.alive.items))
	for i := range q.alive.items {
		it := &q.alive.items[i]
		switch {
		case q.step >= inBand && q.band != allBands && q.bandOf(it) != q.band,
			q.step == inStack && it.stack() != q.stack,
			q.filter != "" && !find.Text(itemText(q.index.Index, q.alive.names, it), q.filter):
			continue
		}
		in = append(in, int32(i))
	}
	return in
}

// itemText is the text of an allocation for search and filter.
func itemText(x *analysis.Index, names page.Names, it *item) string {
	return names.Stack(x, it.Stack, it.FreeStack) + " " + screen.Address(it.Addr) + " " + it.category.String() + " " + screen.Bytes(it.Size)
}

// bandOf returns the chart's band with an allocation.
func (q *listQuestion) bandOf(it *item) int {
	rest := len(q.chart.Bands) - 1
	for i := range q.chart.Bands {
		b := &q.chart.Bands[i]
		switch {
		case b.Rest:
			rest = i
		case q.by == byAllocation:
			if b.Allocation == it.ID {
				return i
			}
		case b.Held || it.held:
			if b.Held && (it.held || it.FreeStack) {
				return i
			}
		case b.Category == it.category:
			return i
		}
	}
	return rest
}

// inGroup reports whether an item of the scope belongs to a row.
func (q *listQuestion) inGroup(g *group, it *item) bool {
	switch {
	case g.all:
		return true
	case q.step == inAll:
		return q.bandOf(it) == g.band
	case q.step == inBand:
		return it.stack() == g.stack
	default:
		return it.ID == g.id
	}
}

// sort sorts the live allocations. They arrive sorted by size, the largest first.
func (q *listQuestion) sort(alive []int32) {
	if q.byAge {
		slices.SortStableFunc(alive, func(a, b int32) int { return cmp.Compare(q.alive.items[a].Open, q.alive.items[b].Open) })
	}
	if q.inverse {
		slices.Reverse(alive)
	}
}
