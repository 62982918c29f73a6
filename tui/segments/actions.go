package segments

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
)

// rows are the blocks of a segment or the segments.
func (p *Page) rows() page.Rows {
	if p.inside {
		return &p.blocks
	}
	return &p.table
}

// turnPool shows the next pool alone, or all.
func (p *Page) turnPool() {
	if p.state != nil {
		p.pool = (p.pool + 1) % (len(p.state.Pools) + 1)
	}
}

// moved shows the segment under the cursor.
func (p *Page) moved() { p.inside = false }

// open goes into a segment, or from a block to the event that made it.
func (p *Page) open() tea.Cmd {
	s, ok := p.table.Current()
	if !ok {
		return nil
	}
	p.Detail.Offset = 0
	if !p.inside {
		p.inside, p.segment, p.blocks.List = true, s.Addr, page.List{}
		return nil
	}
	b := p.block()
	switch {
	case b == nil || !b.State.Live():
		return page.Say("this block is free")
	case !b.Known:
		return page.Say("this block has no event")
	}
	return page.ToEvent(p.Scene, p.Scene.Index.Lifetimes().Allocation(b.Allocation))
}
