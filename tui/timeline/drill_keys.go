package timeline

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
)

// list returns the list with the keys.
func (d *drill) list() *page.List {
	if d.onRight && d.step != inStack {
		return &d.right
	}
	return &d.left
}

func (d *drill) key(msg tea.KeyPressMsg, p *Page) tea.Cmd {
	k := &p.Keys
	switch {
	case key.Matches(msg, k.Pane.Other):
		d.onRight = !d.onRight
	case key.Matches(msg, k.Pane.Open):
		return d.open(p)
	case key.Matches(msg, k.Pane.Expand):
		d.frames = !d.frames
	case key.Matches(msg, k.Pane.SortLeft, k.Pane.SortRight):
		d.byAge = !d.byAge
	case key.Matches(msg, k.Pane.Invert):
		d.inverse = !d.inverse
	case key.Matches(msg, k.Pane.Next):
		return d.next(1)
	case key.Matches(msg, k.Pane.Previous):
		return d.next(-1)
	case key.Matches(msg, k.Pane.Copy):
		return d.copy()
	case d.onRight && d.step == inStack:
		d.detail.Key(msg, k.Motion)
	default:
		d.list().Key(msg, k.Motion)
	}
	return nil
}

// open goes one step down: from a band to its stacks, from a stack to its
// allocations, from an allocation to its event.
func (d *drill) open(p *Page) tea.Cmd {
	if d.onRight && d.step != inStack {
		if d.right.Cursor < len(d.alive) {
			return page.ToEvent(d.scene, d.item(d.right.Cursor).Allocation)
		}
		return nil
	}
	g := d.selected()
	switch {
	case g == nil || d.shownStep() != d.step:
		return nil // the rows of this step are still being made
	case d.step == inAll:
		d.enterBand(g)
	case d.step == inBand && g.all:
		return page.Say("choose one of the stacks")
	case d.step == inBand:
		d.step, d.stack = inStack, g.stack
		d.left = page.List{Cursor: 1}
	case g.all:
		return page.Say("choose one of the allocations")
	default:
		return page.ToEvent(d.scene, d.scene.Index.Lifetimes().Allocation(g.id))
	}
	d.detail.Offset = 0
	return nil
}

func (d *drill) enterBand(g *group) {
	d.step, d.band, d.bandName = inBand, g.band, g.name
	if g.all {
		d.band = allBands
	}
	d.left = page.List{Cursor: 1}
}

func (d *drill) setFilter(text string) tea.Cmd {
	d.filter = text
	return nil
}

func (d *drill) startSearch(text string) tea.Cmd {
	d.search = text
	if text == "" {
		return nil
	}
	return d.next(1)
}

// next moves to the next row of the current list that matches the search.
func (d *drill) next(direction int) tea.Cmd {
	if d.search == "" {
		return page.Say("no search yet: press / to search")
	}
	l := d.list()
	i, ok := page.Around(l.Count, l.Cursor, direction, func(i int) bool { return find.Text(d.rowText(i), d.search) })
	if !ok {
		return page.Say("no row matches " + d.search)
	}
	l.Center(i)
	return nil
}

func (d *drill) rowText(i int) string {
	if d.list() == &d.right {
		return itemText(d.scene.Index, d.names, d.item(i))
	}
	return d.groups[i].name
}

// detailLines describes the selected allocation at the lowest step.
func (d *drill) detailLines() []page.Line {
	g := d.selected()
	switch {
	case g == nil || d.step != inStack || d.shownStep() != inStack:
		return nil
	case g.all:
		return page.StackPart(d.scene, d.stack.id, d.frames)
	default:
		return page.AllocationLines(d.scene, d.scene.Index.Lifetimes().Allocation(g.id), d.frames)
	}
}

// copy copies the selected allocation with its stack, or the row.
func (d *drill) copy() tea.Cmd {
	if d.list() == &d.right && d.right.Cursor < len(d.alive) {
		a := d.item(d.right.Cursor).Allocation
		return page.Copied(page.CopyLines(page.AllocationLines(d.scene, a, true)), "the allocation")
	}
	g := d.selected()
	switch {
	case g == nil:
		return nil
	case d.step == inStack && !g.all:
		a := d.scene.Index.Lifetimes().Allocation(g.id)
		return page.Copied(page.CopyLines(page.AllocationLines(d.scene, a, true)), "the allocation")
	case d.step >= inBand && !g.all:
		return page.Copied(page.CopyLines(page.StackLines(d.scene.Tables(), g.stack.id)), "the stack")
	default:
		return page.Copied(rowCopy(g), "the row")
	}
}

func (d *drill) click(msg tea.MouseClickMsg, p *Page) tea.Cmd {
	list, at := &d.left, p.shape.left
	right := p.shape.right.Contains(msg.X, msg.Y)
	if right {
		list, at = &d.right, p.shape.right
	}
	if !at.Contains(msg.X, msg.Y) {
		return nil
	}
	was, same := list.Cursor, d.onRight == right
	d.onRight = right
	if list.Click(msg.Y-at.Y-1) && was == list.Cursor && same {
		return d.open(p)
	}
	return nil
}

func (d *drill) wheel(msg tea.MouseWheelMsg, p *Page) {
	switch {
	case p.shape.right.Contains(msg.X, msg.Y) && d.step == inStack:
		d.detail.Wheel(msg)
	case p.shape.right.Contains(msg.X, msg.Y):
		d.right.Wheel(msg)
	default:
		d.left.Wheel(msg)
	}
}
