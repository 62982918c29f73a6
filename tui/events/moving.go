package events

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
)

// arranged starts a new filter or search of the events, and shows the first row
// of a new order.
func (p *Page) arranged() {
	if query := p.table.Filter; query != p.filter.Query() {
		p.filter.Look(p.Scene.Tables(), query)
		p.follow = -2 // find the cursor again among other rows
	}
	if query := p.table.Search; query != p.search.Query() {
		p.search.Look(p.Scene.Tables(), query)
		p.jump, p.from = query != "", p.Scene.Cursor()
	}
	p.top = p.top || p.ordered != p.table.Order
	p.ordered = p.table.Order
}

// seek goes to the next match in a direction, around the ends. For a search that
// has just begun, it goes to the first match once that is found.
func (p *Page) seek(direction int) bool {
	if p.jump {
		return true
	}
	at := p.Scene.Cursor()
	hit, ok := p.search.After(at)
	if direction < 0 {
		hit, ok = p.search.Before(at)
	}
	if !ok && direction > 0 {
		hit, ok = p.search.After(-1)
	} else if !ok {
		hit, ok = p.search.Before(p.Scene.Last() + 1)
	}
	if ok {
		p.Scene.Move(hit)
	}
	return ok
}

// otherEnd goes from an alloc to its free and back.
func (p *Page) otherEnd() tea.Cmd {
	at := p.Scene.Cursor()
	a, ok := page.AllocationOf(p.Scene, at)
	switch {
	case !ok:
		return page.Say("this event neither makes nor ends an allocation")
	case at != a.Open && a.Open >= 0:
		p.Scene.Move(a.Open)
	case at == a.Open && a.Close <= p.Scene.Last():
		p.Scene.Move(a.Close)
	case at == a.Open:
		return page.Say("never freed: alive at the end of the trace")
	default:
		return page.Say("held from before recording: its alloc was not recorded")
	}
	if p.rows.filtered && p.rows.at(p.rows.of(p.Scene.Cursor())).event != p.Scene.Cursor() {
		p.table.Filter = ""
		p.arranged()
		return page.Say("the filter was cleared: the other end does not match it")
	}
	return nil
}

// sameStackReach bounds how far one key looks for an event of the same stack.
const sameStackReach = 1 << 20

// sameStack goes to the nearest event in a direction with the stack of the
// one under the cursor.
func (p *Page) sameStack(direction int) tea.Cmd {
	events, at := p.Scene.Events(), p.Scene.Cursor()
	if at < 0 {
		return nil
	}
	stack := events.At(at).Stack
	for i, n := at+direction, 0; i >= 0 && i < events.Len() && n < sameStackReach; i, n = i+direction, n+1 {
		if events.At(i).Stack == stack {
			p.Scene.Move(i)
			return nil
		}
	}
	return page.Say("no other event of this stack that way")
}

// jumpToMatch moves to the first match after where the search began, as soon as
// it is known to be the first; around the end when there is none.
func (p *Page) jumpToMatch() {
	if !p.jump {
		return
	}
	hit, ok := p.search.After(p.from - 1)
	if !ok && p.search.Done() {
		hit, ok = p.search.After(-1)
	}
	if ok {
		p.Scene.Move(hit)
	}
	p.jump = !ok && !p.search.Done()
}
