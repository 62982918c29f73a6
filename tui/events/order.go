package events

import (
	"cmp"
	"context"
	"slices"

	"memtop/snapshots/trace"
	"memtop/tui/page"
)

// sorting is the order of the list; the zero value is that of events.
type sorting struct {
	by      sortColumn
	inverse bool
}

type sortColumn uint8

const (
	byEvent sortColumn = iota
	bySize
	byLife // for how many events the allocation lives
	sortColumns
)

// hitList is what a filter left: a value that never changes.
type hitList struct{ events []int32 }

// sortQuestion is what an order is computed from.
type sortQuestion struct {
	index page.Edition
	sort  sorting
	hits  *hitList // nil for all events
}

// keyed is an event with what it is sorted by.
type keyed struct {
	key   int64
	event int32
}

// sortEvents puts the largest first. It runs in a command: a million events
// take some tenths of a second.
func sortEvents(ctx context.Context, q sortQuestion) []int32 {
	events := q.index.Device().Events
	n := events.Len()
	if q.hits != nil {
		n = len(q.hits.events)
	}
	all := make([]keyed, n)
	for k := range all {
		i := int32(k)
		if q.hits != nil {
			i = q.hits.events[k]
		}
		all[k] = keyed{q.key(events, int(i)), i}
	}
	if ctx.Err() != nil {
		return nil
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.event, b.event)) })
	sorted := make([]int32, n)
	for k := range all {
		sorted[k] = all[k].event
	}
	if q.sort.inverse {
		slices.Reverse(sorted)
	}
	return sorted
}

// key returns what an event is sorted by; −1 where it has no such thing.
func (q *sortQuestion) key(events trace.Events, i int) int64 {
	e := events.At(i)
	switch {
	case q.sort.by == byEvent:
		return -int64(i)
	case q.sort.by == bySize && e.Absent&trace.NoSize == 0:
		return e.Size
	case q.sort.by == byLife && e.Kind == trace.Alloc:
		return int64(min(q.index.Lifetimes().Closed(i), events.Len()) - i)
	default:
		return -1
	}
}
