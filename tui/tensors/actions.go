package tensors

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
)

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if p.read != nil {
			return p.readingKey(msg)
		}
		return p.key(msg)
	case tea.MouseWheelMsg:
		if p.read != nil || p.shape.detail.Contains(msg.X, msg.Y) {
			p.detail.Wheel(msg)
			return nil
		}
		p.table().Wheel(msg)
	case tea.MouseClickMsg:
		if p.read == nil {
			return p.table().Click(msg)
		}
	}
	return nil
}

// readingKey takes a key while one tensor is shown alone.
func (p *Page) readingKey(msg tea.KeyPressMsg) tea.Cmd {
	switch k := &p.keys; {
	case p.detail.Key(msg, k.motion):
	case key.Matches(msg, k.pane.Open):
		return page.ToEvent(p.scene, p.read.tensor.Allocation)
	case key.Matches(msg, k.pane.Copy):
		return page.Copied(page.CopyLines(p.detailLines()), "the tensor")
	}
	return nil
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	switch k := &p.keys; {
	case p.detail.Sideways(msg, k.motion):
	case key.Matches(msg, k.pane.Expand):
		p.all = !p.all
	case key.Matches(msg, k.pane.Copy):
		return page.Copied(page.CopyLines(p.detailLines()), "the detail")
	case key.Matches(msg, k.mine.View):
		p.turn(map[view]view{sites: single, single: sites, inside: sites}[p.view])
	case key.Matches(msg, k.mine.Moment):
		p.now = !p.now
	case key.Matches(msg, k.mine.Worrying):
		p.worrying = !p.worrying
	default:
		cmd, _ := p.table().Press(msg)
		return cmd
	}
	return nil
}

// open goes from a site to its tensors, and from a tensor to its stack.
func (p *Page) open() tea.Cmd {
	r, ok := p.current()
	switch {
	case !ok:
	case p.view == sites:
		p.site, p.siteName = keyOf(r.site), r.site.Name
		p.turn(inside)
		t := p.table()
		t.List, t.Filter = page.List{}, ""
		t.Unselect()
	default:
		p.read, p.detail.Offset = &r, 0
	}
	return nil
}
