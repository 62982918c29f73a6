package segments

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/find"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// sorting is the order of the list.
type sorting struct {
	column  sortColumn
	inverse bool
}

type sortColumn uint8

const (
	byAddress sortColumn = iota
	bySize
	byUsed
	byFree
	byBlocks
	sortColumns
)

// listQuestion is what the list is made from.
type listQuestion struct {
	index  page.Edition
	state  *analysis.Map
	sort   sorting
	pool   int // 0: all, else one of state.Pools
	filter string
}

// list returns the segments that pool and filter leave, sorted. It runs in a
// command: a large trace has tens of thousands.
func list(_ context.Context, q listQuestion) []int32 {
	rows := make([]int32, 0, len(q.state.Segments))
	for i := range q.state.Segments {
		if q.has(&q.state.Segments[i]) {
			rows = append(rows, int32(i))
		}
	}
	slices.SortStableFunc(rows, func(a, b int32) int {
		if q.sort.inverse {
			a, b = b, a
		}
		return q.sort.column.compare(&q.state.Segments[a], &q.state.Segments[b])
	})
	return rows
}

func (q *listQuestion) has(s *analysis.MapSegment) bool {
	if q.pool > 0 && s.Pool != q.state.Pools[q.pool-1].Pool {
		return false
	}
	return q.filter == "" || find.Text(segmentText(q.index.Index, s), q.filter)
}

// compare puts what is large first, and addresses in their own order.
func (c sortColumn) compare(a, b *analysis.MapSegment) int {
	switch c {
	case bySize:
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Addr, b.Addr))
	case byUsed:
		return cmp.Compare(float64(b.Live)/float64(max(b.Size, 1)), float64(a.Live)/float64(max(a.Size, 1)))
	case byFree:
		return cmp.Compare(b.Free, a.Free)
	case byBlocks:
		return cmp.Compare(b.LiveCount, a.LiveCount)
	default:
		return cmp.Compare(a.Addr, b.Addr)
	}
}

// segmentText is what search and filter look at in a segment.
func segmentText(x *analysis.Index, s *analysis.MapSegment) string {
	words := []string{
		screen.Address(s.Addr), screen.Bytes(s.Size), s.Type, "stream " + page.StreamText(s.Stream),
		"pool " + page.PoolText(x.Trace().Tables, s.Pool), x.StackName(s.Stack),
	}
	if s.Expandable {
		words = append(words, "expandable")
	}
	if s.Pin != nil {
		words = append(words, "pinned", x.StackName(s.Pin.Stack))
	}
	if s.LiveCount == 0 {
		words = append(words, "empty")
	}
	for i := range s.Blocks {
		if s.Blocks[i].State == trace.PendingFree {
			words = append(words, "pending")
			break
		}
	}
	return strings.Join(words, " ")
}
