package events

import (
	"slices"
	"sort"

	"github.com/memtop/memtop/tui/page"
)

// rows computes the content of each row without holding a list: the start, all
// events with the marks between them, or the events that passed a filter.
type rows struct {
	events   int
	marks    []page.Mark
	filtered bool
	hits     []int32
	sorted   bool // hits are in an order of their own, not that of events
}

// row is one row: an event, a mark, or the start, which is event −1.
type row struct {
	event int
	mark  *page.Mark
}

func (r *rows) count() int {
	if r.filtered {
		return len(r.hits)
	}
	return 1 + r.events + len(r.marks)
}

// at returns row i.
func (r *rows) at(i int) row {
	if r.filtered {
		if i < 0 || i >= len(r.hits) {
			return row{event: -1}
		}
		return row{event: int(r.hits[i])}
	}
	i-- // the start
	k := sort.Search(len(r.marks), func(k int) bool { return r.marks[k].Event+k >= i })
	if k < len(r.marks) && r.marks[k].Event+k == i {
		return row{event: r.marks[k].Event - 1, mark: &r.marks[k]}
	}
	return row{event: i - k}
}

// of returns the row of an event, or of the last shown one before it.
func (r *rows) of(event int) int {
	if r.sorted {
		return max(slices.Index(r.hits, int32(event)), 0)
	}
	if r.filtered {
		k := sort.Search(len(r.hits), func(k int) bool { return int(r.hits[k]) > event })
		return max(k-1, 0)
	}
	if event < 0 {
		return 0
	}
	k := sort.Search(len(r.marks), func(k int) bool { return r.marks[k].Event > event })
	return 1 + event + k
}
