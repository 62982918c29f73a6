package segments

import (
	"context"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// nameQuestion asks for the names of a segment's live blocks.
type nameQuestion struct {
	index   page.Edition
	state   *analysis.Map
	segment *analysis.MapSegment
}

func nameBlocks(_ context.Context, q nameQuestion) page.Names {
	var stacks []trace.StackID
	for i := range q.segment.Blocks {
		switch b := &q.segment.Blocks[i]; {
		case !b.State.Live():
		case b.Known:
			stacks = append(stacks, q.index.Lifetimes().AllocationAt(b.Allocation, q.state.At).Stack)
		default:
			stacks = append(stacks, b.Stack)
		}
	}
	return analysis.NamesOf(q.index.Index, stacks)
}

// blockColumns are the columns of the blocks of one segment.
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

// blockStyle dims free blocks.
func blockStyle(b *analysis.MapBlock) screen.Style {
	if b.State.Live() {
		return screen.Plain
	}
	return screen.Dim
}

// drawWhere names a live block, and says whether it pins the segment.
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

// blockName names a live block.
func (p *Page) blockName(b *analysis.MapBlock) string {
	x := p.Scene.Index
	names, _ := p.named.Answer()
	if p.named.Answered().segment != p.opened() {
		names = nil
	}
	if !b.Known {
		return names.Stack(x, b.Stack, false)
	}
	return names.Allocation(x, x.Lifetimes().AllocationAt(b.Allocation, p.state.At))
}
