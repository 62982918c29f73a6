package events

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Hint = []string{"/ search", "\\ filter", "enter other end", "> sort", "y copy", "n next match"}
	p.Rows = func() page.Rows { return &p.table }
	p.CellPace = 90 * time.Microsecond
	p.Copy = func() tea.Cmd {
		return page.Copied(page.CopyLines(page.EventLines(p.Scene, p.Scene.Cursor(), true)), "the event")
	}
	k := &p.Keys.Pane
	k.Open.SetHelp("enter", "the other end of the allocation")
	k.Expand.SetHelp("e", "all frames, or without the runtime's")
	k.Search.SetHelp("/", "search action, address, size, frames, metadata; >1MiB <1MiB")
	k.Filter.SetHelp("\\", "show only matching events")
	k.SortLeft.SetHelp("<", "sort by event, size, or how long it lives")
	k.SortRight.SetHelp(">", "sort by event, size, or how long it lives")
	p.Keys.Bind(
		page.NewKey("}", "next event of this stack", func() tea.Cmd { return p.sameStack(1) }),
		page.NewKey("{", "previous event of this stack", func() tea.Cmd { return p.sameStack(-1) }),
	)
}

// Help returns the page's keys, those that pages share first.
func (p *Page) Help() []keys.Group {
	groups := p.Body.Help()
	groups[0].Bindings = slices.Concat(groups[0].Bindings[2:], groups[0].Bindings[:2])
	return groups
}
