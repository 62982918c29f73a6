package segments

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"memtop/tui/find"
	"memtop/tui/page"
)

func (p *Page) click(msg tea.MouseClickMsg) tea.Cmd {
	r, was := p.shape.list, p.active().Cursor
	if r.Contains(msg.X, msg.Y) && msg.Y == r.Y+1 && !p.inside {
		p.clickHead(msg.X-r.X, r.W)
		return nil
	}
	if !r.Contains(msg.X, msg.Y) || !p.active().Click(msg.Y-r.Y-2) {
		return nil
	}
	if was == p.active().Cursor {
		return p.open()
	}
	p.moved()
	return nil
}

func (p *Page) moved() {
	p.detail.Offset = 0
	if s := p.current(); s != nil {
		p.selected = s.Addr
	}
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	k := &p.keys
	switch {
	case key.Matches(msg, k.motion.Left):
		p.detail.Scroll(-1)
	case key.Matches(msg, k.motion.Right):
		p.detail.Scroll(1)
	case p.active().Key(msg, k.motion):
		p.moved()
	case key.Matches(msg, k.pane.Open):
		return p.open()
	case key.Matches(msg, k.pane.Expand):
		p.all = !p.all
	case key.Matches(msg, k.pane.Search):
		p.prompt = page.NewPrompt("search", "", "address, pool, stream, type, stack", nil, p.startSearch)
	case key.Matches(msg, k.pane.Filter):
		p.prompt = page.NewPrompt("filter", p.filter, "address, pool, stream, type, stack, pinned; empty shows all", nil, p.setFilter)
	case key.Matches(msg, k.pane.Next):
		return p.next(1)
	case key.Matches(msg, k.pane.Previous):
		return p.next(-1)
	case key.Matches(msg, k.pane.Copy):
		return page.Copied(page.CopyLines(p.detailLines()), "the detail")
	default:
		p.arrange(msg)
	}
	return nil
}

// arrange answers the keys that change what is listed and how.
func (p *Page) arrange(msg tea.KeyPressMsg) {
	k := &p.keys
	switch {
	case key.Matches(msg, k.pane.SortLeft):
		p.sort.column = (p.sort.column + sortColumns - 1) % sortColumns
	case key.Matches(msg, k.pane.SortRight):
		p.sort.column = (p.sort.column + 1) % sortColumns
	case key.Matches(msg, k.pane.Invert):
		p.sort.inverse = !p.sort.inverse
	case key.Matches(msg, k.mine.Pool):
		if p.state != nil {
			p.pool = (p.pool + 1) % (len(p.state.Pools) + 1)
		}
	case key.Matches(msg, k.mine.Scale):
		p.scaled = !p.scaled
	}
}

// open goes into a segment, or from a block to the event that made it.
func (p *Page) open() tea.Cmd {
	s := p.current()
	if s == nil {
		return nil
	}
	if !p.inside {
		p.inside, p.segment, p.blocks = true, s.Addr, page.List{}
		p.detail.Offset = 0
		return nil
	}
	b := p.block()
	switch {
	case b == nil || !b.State.Live():
		return page.Say("this block is free")
	case !b.Known:
		return page.Say("no event tells of this block")
	}
	return page.ToEvent(p.scene, p.scene.Index.Lifetimes().Allocation(b.Allocation))
}

func (p *Page) setFilter(text string) tea.Cmd {
	p.filter = text
	return nil
}

func (p *Page) startSearch(text string) tea.Cmd {
	p.search = text
	if text == "" {
		return nil
	}
	return p.next(1)
}

// next goes to the next segment that matches the search, around the ends.
func (p *Page) next(direction int) tea.Cmd {
	if p.search == "" {
		return page.Say("nothing searched for yet: / searches")
	}
	n := len(p.rows)
	for step := 1; step <= n; step++ {
		i := ((p.list.Cursor+direction*step)%n + n) % n
		if find.Text(segmentText(p.scene.Index, &p.state.Segments[p.rows[i]]), p.search) {
			p.inside = false
			p.list.Center(i)
			p.moved()
			return nil
		}
	}
	return page.Say("no segment matches " + p.search)
}
