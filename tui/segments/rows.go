package segments

import (
	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// column is one column of the list; the one without text is the bar.
type column struct {
	head  string
	sort  sortColumn
	width int
	text  func(p *Page, s *analysis.MapSegment) string
}

const noSort = sortColumns

func (p *Page) columns(w int) []column {
	all := []column{
		{"size", bySize, screen.BytesWidth, func(_ *Page, s *analysis.MapSegment) string { return screen.Bytes(s.Size) }},
		{"used", byUsed, 6, func(_ *Page, s *analysis.MapSegment) string { return screen.Percent(s.Live, s.Size) }},
		{"", noSort, 0, nil},
		{"free", byFree, screen.BytesWidth, func(_ *Page, s *analysis.MapSegment) string { return screen.Bytes(s.Free) }},
		{"live", byBlocks, 6, func(_ *Page, s *analysis.MapSegment) string { return screen.Count(s.LiveCount) }},
		{"", noSort, 3, func(_ *Page, s *analysis.MapSegment) string { return flags(s) }},
	}
	if w >= 78 {
		address := column{"address", byAddress, 15, func(_ *Page, s *analysis.MapSegment) string { return screen.Address(s.Addr) }}
		all = append([]column{address}, all...)
	}
	if w >= 100 {
		all = append(all,
			column{"stream", noSort, 6, func(_ *Page, s *analysis.MapSegment) string { return page.StreamText(s.Stream) }},
			column{"pool", noSort, 9, func(p *Page, s *analysis.MapSegment) string {
				return page.PoolText(p.scene.Tables(), s.Pool)
			}},
			column{"type", noSort, 5, func(_ *Page, s *analysis.MapSegment) string { return s.Type }})
	}
	used := 1
	for _, col := range all {
		used += col.width + 1
	}
	for i := range all {
		if all[i].text == nil {
			all[i].width = max(w-used, 4)
		}
	}
	return all
}

// flags says in letters what is particular about a segment: pinned,
// expandable, without anything live.
func flags(s *analysis.MapSegment) string {
	f := ""
	if s.Pin != nil {
		f += "P"
	}
	if s.Expandable {
		f += "X"
	}
	if s.LiveCount == 0 {
		f += "E"
	}
	return f
}

func (p *Page) drawHeads(c screen.Canvas, columns []column) {
	x := 1
	for _, col := range columns {
		head := col.head
		if col.text == nil {
			c.Fit(x, 1, col.width, "blocks by address", screen.Dim)
		}
		if col.sort == p.shown.sort.column && col.sort != noSort {
			head += map[bool]string{false: "▼", true: "▲"}[p.shown.sort.inverse]
		}
		c.Right(x, 1, col.width, head, screen.Dim)
		x += col.width + 1
	}
}

// clickHead sorts by the column at x; once more inverts the order.
func (p *Page) clickHead(x, w int) {
	from := 1
	for _, col := range p.columns(w - 1) {
		if x >= from && x < from+col.width && col.sort != noSort {
			p.sort = sorting{column: col.sort, inverse: p.sort.column == col.sort && !p.sort.inverse}
		}
		from += col.width + 1
	}
}

func (p *Page) drawRow(c screen.Canvas, y int, s *analysis.MapSegment, columns []column) {
	x := 1
	for _, col := range columns {
		if col.text == nil {
			w := col.width
			if p.scaled {
				w = max(int(float64(w)*float64(s.Size)/float64(p.largest())+0.5), 1)
			}
			page.DrawBar(p.scene, c, x, y, w, s)
		} else {
			c.Right(x, y, col.width, col.text(p, s), screen.Plain)
		}
		x += col.width + 1
	}
}

func (p *Page) largest() int64 {
	largest := int64(1)
	for _, i := range p.rows {
		largest = max(largest, p.state.Segments[i].Size)
	}
	return largest
}

// selectRow marks a row but leaves its bar readable.
func selectRow(c screen.Canvas, y int, columns []column) {
	c.Set(0, y, '▸', screen.Title)
	x := 1
	for _, col := range columns {
		if col.text != nil {
			c.Highlight(x, y, col.width)
		}
		x += col.width + 1
	}
}

// drawBlocks lists the blocks of one segment.
func (p *Page) drawBlocks(c screen.Canvas, s *analysis.MapSegment) {
	c.Rule(0, "Segment "+screen.Address(s.Addr)+" "+screen.Bytes(s.Size)+": "+screen.Plural(len(s.Blocks), "block"), "esc back", true)
	wide := c.Width() >= 100
	x := c.Width() - 1
	c.Right(1, 1, screen.BytesWidth, "size", screen.Dim)
	c.Right(12, 1, screen.BytesWidth, "requested", screen.Dim)
	c.Text(24, 1, "state", screen.Dim)
	c.Text(blockWhere(wide), 1, "where", screen.Dim)
	if wide {
		c.Right(37, 1, 15, "address", screen.Dim)
	}
	from, to := p.blocks.Visible()
	for i := from; i < to && i-from < c.Height()-2; i++ {
		y := 2 + i - from
		p.drawBlock(c, y, &s.Blocks[i], wide, s.Pin != nil && s.Pin.Addr == s.Blocks[i].Addr)
		if i == p.blocks.Cursor {
			c.Select(y)
		}
	}
	list := p.blocks
	list.Scrollbar(c, x, 2)
}

func blockWhere(wide bool) int {
	if wide {
		return 54
	}
	return 37
}

func (p *Page) drawBlock(c screen.Canvas, y int, b *analysis.MapBlock, wide, pin bool) {
	style := screen.Plain
	if !b.State.Live() {
		style = screen.Dim
	}
	c.Right(1, y, screen.BytesWidth, screen.Bytes(b.Size), style)
	if b.State.Live() {
		c.Right(12, y, screen.BytesWidth, screen.Bytes(b.Requested), style)
	}
	c.Text(24, y, stateText(b.State), style)
	if wide {
		c.Right(37, y, 15, screen.Address(b.Addr), screen.Dim)
	}
	if b.State.Live() {
		x := blockWhere(wide)
		if pin {
			x = c.Text(x, y, "pins: ", screen.Warn)
		}
		c.Fit(x, y, c.Width()-x-2, p.blockName(b), style)
	}
}

func stateText(s trace.BlockState) string {
	return [...]string{trace.Inactive: "free", trace.Allocated: "live", trace.PendingFree: "pending", trace.UnknownState: "unknown"}[min(s, trace.UnknownState)]
}

// blockName says what a live block holds.
func (p *Page) blockName(b *analysis.MapBlock) string {
	if !b.Known {
		return p.scene.Index.StackName(b.Stack)
	}
	return page.AllocationName(p.scene, b.Stack, p.scene.Index.Lifetimes().AllocationAt(b.Allocation, p.state.At).Note)
}
