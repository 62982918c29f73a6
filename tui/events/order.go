package events

import (
	"cmp"
	"context"
	"slices"

	"github.com/memtop/memtop/tui/page"
)

// hitList is what a filter left: a value that never changes.
type hitList struct{ events []int32 }

// sortQuestion is what an order is computed from.
type sortQuestion struct {
	index page.Edition
	order page.Order
	hits  *hitList // nil for all events
}

// keyed is an event with its sort key.
type keyed struct {
	key   int64
	event int32
}

// sortEvents puts the largest first. It runs in a command: a million events
// take some tenths of a second.
func sortEvents(ctx context.Context, q sortQuestion) []int32 {
	value := func(r row) int64 { return -int64(r.event) }
	for _, col := range columns(q.index.Index, nil) {
		if col.Head == q.order.By {
			value = col.Value
		}
	}
	n := q.index.Device().Events.Len()
	if q.hits != nil {
		n = len(q.hits.events)
	}
	all := make([]keyed, n)
	for k := range all {
		i := int32(k)
		if q.hits != nil {
			i = q.hits.events[k]
		}
		all[k] = keyed{value(row{event: int(i)}), i}
	}
	if ctx.Err() != nil {
		return nil
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.event, b.event)) })
	sorted := make([]int32, n)
	for k := range all {
		sorted[k] = all[k].event
	}
	if q.order.Inverse {
		slices.Reverse(sorted)
	}
	return sorted
}
