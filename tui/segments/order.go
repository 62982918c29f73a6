package segments

import (
	"cmp"
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

// order lists the segments that pool and filter leave, sorted, and keeps the
// selected one under the cursor.
func (p *Page) order() {
	p.rows = p.rows[:0]
	if p.state == nil {
		return
	}
	p.pool = min(p.pool, len(p.state.Pools))
	for i := range p.state.Segments {
		if p.shown(&p.state.Segments[i]) {
			p.rows = append(p.rows, i)
		}
	}
	segments := p.state.Segments
	slices.SortStableFunc(p.rows, func(a, b int) int {
		if p.sort.inverse {
			a, b = b, a
		}
		return p.sort.column.compare(&segments[a], &segments[b])
	})
	p.list.Resize(len(p.rows), max(p.list.Height, 1))
	for row, i := range p.rows {
		if segments[i].Addr == p.selected {
			p.list.Center(row)
		}
	}
}

// compare puts what is large first, and addresses in their own order.
func (c sortColumn) compare(a, b *analysis.Segment) int {
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

func (p *Page) shown(s *analysis.Segment) bool {
	if p.pool > 0 && s.Pool != p.poolID() {
		return false
	}
	return p.filter == "" || find.Text(p.text(s), p.filter)
}

func (p *Page) poolID() trace.PoolID { return p.state.Pools[p.pool-1].Pool }

// text is what search and filter look at in a segment.
func (p *Page) text(s *analysis.Segment) string {
	x := p.scene.Index
	words := []string{
		screen.Address(s.Addr), screen.Bytes(s.Size), s.Type, "stream " + page.StreamText(s.Stream),
		"pool " + page.PoolText(p.scene.Tables(), s.Pool), x.StackName(s.Stack),
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
