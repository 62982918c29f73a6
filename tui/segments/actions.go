package segments

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
)

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.key(msg)
	case tea.MouseWheelMsg:
		switch {
		case p.shape.detail.Contains(msg.X, msg.Y):
			p.detail.Wheel(msg)
		case p.inside:
			p.blocks.Wheel(msg)
		default:
			p.table.Wheel(msg)
		}
	case tea.MouseClickMsg:
		if p.inside {
			return p.blocks.Click(msg)
		}
		return p.table.Click(msg)
	}
	return nil
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	k := &p.keys
	switch {
	case p.detail.Sideways(msg, k.motion):
	case p.inside && p.blocks.List.Key(msg, k.motion):
		p.detail.Offset = 0
	case key.Matches(msg, k.pane.Expand):
		p.all = !p.all
	case key.Matches(msg, k.pane.Copy):
		return page.Copied(page.CopyLines(p.detailLines()), "the detail")
	case key.Matches(msg, k.mine.Pool):
		if p.state != nil {
			p.pool = (p.pool + 1) % (len(p.state.Pools) + 1)
		}
	case key.Matches(msg, k.mine.Scale):
		p.scaled = !p.scaled
	default:
		cmd, _ := p.table.Press(msg)
		return cmd
	}
	return nil
}

// moved shows the segment that the reader went to.
func (p *Page) moved() { p.inside, p.detail.Offset = false, 0 }

// open goes into a segment, or from a block to the event that made it.
func (p *Page) open() tea.Cmd {
	s, ok := p.table.Current()
	if !ok {
		return nil
	}
	p.detail.Offset = 0
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
	return page.ToEvent(p.scene, p.scene.Index.Lifetimes().Allocation(b.Allocation))
}
