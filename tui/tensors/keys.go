package tensors

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Rows = func() page.Rows { return p.table() }
	p.Copy = func() tea.Cmd { return page.Copied(page.CopyLines(p.detailLines()), "the detail") }
	p.Signs = signs
	k := &p.Keys.Pane
	k.Open.SetHelp("enter", "site: its tensors; tensor: its stack; stack: the event")
	k.Search.SetHelp("/", "search verdict, place, name, category, shape, dtype")
	k.Filter.SetHelp("\\", "only what matches, as suspected or activation")
	k.Expand.SetHelp("e", "all frames, or the most informative ones")
	moment := page.NewKey("c", "at the end: after the last step, or at the last event", page.Turn(&p.now))
	moment.SetEnabled(p.Scene.Live() != nil)
	p.Keys.Bind(
		page.NewKey("t", "by place of creation, or tensor by tensor", page.Act(func() {
			p.turn(map[view]view{sites: single, single: sites, inside: sites}[p.view])
		})),
		page.NewKey("f", "only what grows or leaks, or all", page.Turn(&p.worrying)),
		moment,
	)
}

var signs = []keys.Term{
	keys.Explain("⚠", "a leak: unreachable for certain, suspected when it grew for long"),
	keys.Explain("▲", "grows; too early to call it a leak"),
	keys.Explain("?", "behind a category: guessed"),
	keys.Explain("+", "behind an age: it may be more"),
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	if p.read != nil {
		return p.Keys.Hints("enter event", "y copy")
	}
	open, other := "enter stack", "t by site"
	switch p.view {
	case sites:
		open, other = "enter tensors", "t single"
	case inside, single:
	}
	return p.Keys.Hints(open, other, "f suspects", "> sort", "I invert", "\\ filter", "/ search", "y copy")
}
