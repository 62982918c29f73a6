package segments

import (
	"context"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
)

// listQuestion is the input for the list.
type listQuestion struct {
	index  page.Edition
	state  *analysis.Map
	order  page.Order
	pool   int // 0: all, else one of state.Pools
	filter string
}

// list returns the segments that pass pool and filter, in order. It runs in a
// command: a large trace has tens of thousands.
func list(_ context.Context, q listQuestion) []*analysis.MapSegment {
	rows := make([]*analysis.MapSegment, 0, len(q.state.Segments))
	for i := range q.state.Segments {
		if s := &q.state.Segments[i]; q.pool == 0 || s.Pool == q.state.Pools[q.pool-1].Pool {
			rows = append(rows, s)
		}
	}
	return page.Arrange(rows, columns(q.index.Index, nil), q.order, q.filter)
}
