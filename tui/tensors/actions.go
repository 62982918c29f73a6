package tensors

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
)

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	if p.read == nil {
		return p.Body.Update(msg)
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.readingKey(msg)
	case tea.MouseWheelMsg:
		p.Detail.Wheel(msg)
	}
	return nil
}

// readingKey handles a key while only one tensor is shown.
func (p *Page) readingKey(msg tea.KeyPressMsg) tea.Cmd {
	switch k := &p.Keys; {
	case p.Detail.Key(msg, k.Motion):
	case key.Matches(msg, k.Pane.Open):
		return page.ToEvent(p.Scene, p.read.tensor.Allocation)
	case key.Matches(msg, k.Pane.Copy):
		return page.Copied(page.CopyLines(p.detailLines()), "the tensor")
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
		p.read, p.Detail.Offset = &r, 0
	}
	return nil
}
