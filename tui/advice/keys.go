package advice

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Hint = []string{"enter make this change", "y copy"}
	p.Rows = func() page.Rows { return &p.table }
	p.Copy = func() tea.Cmd { return page.Copied(page.CopyLines(p.lines()), "the advice") }
	k := &p.Keys.Pane
	k.Open.SetHelp("enter", "make this change from the next step on")
	k.Copy.SetHelp("y", "copy what is said of it")
	k.DisableArranging()
	k.Expand.SetEnabled(false)
	p.Keys.Bind()
}
