package segments

import (
	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// blockColumns are those of the blocks of one segment.
func (p *Page) blockColumns() []page.Column[*analysis.MapBlock] {
	type block = *analysis.MapBlock
	return []page.Column[block]{
		{Head: "size", Width: page.Cells(screen.BytesWidth), Text: func(b block) string { return screen.Bytes(b.Size) }},
		{Head: "requested", Width: page.Cells(screen.BytesWidth), Gap: 2, Text: func(b block) string {
			if !b.State.Live() {
				return ""
			}
			return screen.Bytes(b.Requested)
		}},
		{Head: "state", Width: page.Cells(12), Left: true, Text: func(b block) string { return stateText(b.State) }},
		{Head: "address", Width: page.From(99, 15), Gap: 2, Text: func(b block) string { return screen.Address(b.Addr) }, Style: func(block) screen.Style { return screen.Dim }},
		{Head: "where", Rest: page.All, Left: true, Draw: p.drawWhere},
	}
}

// blockStyle dims what is free.
func blockStyle(b *analysis.MapBlock) screen.Style {
	if b.State.Live() {
		return screen.Plain
	}
	return screen.Dim
}

// drawWhere says what a live block holds, and whether it pins the segment.
func (p *Page) drawWhere(c screen.Canvas, b *analysis.MapBlock) {
	if !b.State.Live() {
		return
	}
	x := 0
	if s := p.opened(); s != nil && s.Pin != nil && s.Pin.Addr == b.Addr {
		x = c.Text(x, 0, "pins: ", screen.Warn)
	}
	c.Fit(x, 0, c.Width()-x, p.blockName(b), screen.Plain)
}

func stateText(s trace.BlockState) string {
	return [...]string{trace.Inactive: "free", trace.Allocated: "live", trace.PendingFree: "pending", trace.UnknownState: "unknown"}[min(s, trace.UnknownState)]
}

// blockName says what a live block holds.
func (p *Page) blockName(b *analysis.MapBlock) string {
	if !b.Known {
		return p.scene.Index.StackName(b.Stack)
	}
	return page.AllocationName(p.scene, p.scene.Index.Lifetimes().AllocationAt(b.Allocation, p.state.At))
}
