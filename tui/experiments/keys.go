package experiments

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Rows = p.rows
	p.Copy = func() tea.Cmd { return page.Copied(page.CopyLines(p.detailLines()), "the experiment") }
	k := &p.Keys.Pane
	k.Open.SetHelp("enter", "setting: its choices; choice: use it; change: its place in time")
	k.Copy.SetHelp("y", "copy the experiment")
	k.DisableArranging()
	k.Expand.SetEnabled(false)
	p.Keys.Bind(page.NewKey("v", "settings, or changes", page.Act(p.turn)))
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	switch p.focus {
	case choices:
		return append(p.Keys.Hints("enter use it from the next step on"), keys.New("esc", "back"))
	case options:
		return p.Keys.Hints("enter choose a value", "v changes", "y copy")
	default:
		return p.Keys.Hints("v settings", "enter when it was", "y copy")
	}
}
