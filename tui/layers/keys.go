package layers

import (
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Hint = []string{"e fold", "> sort", "m largest", "\\ filter", "E all", "y copy"}
	p.Rows = func() page.Rows { return &p.table }
	p.Copy, p.Expand, p.Sideways = p.copy, p.toggle, p.sideways
	k := &p.Keys
	k.Motion.Sideways("collapse, or to the layer around", "expand, or to the first layer inside")
	k.Pane.Open.SetHelp("enter", "expand or collapse")
	k.Pane.Search.SetHelp("/", "search names and classes")
	k.Pane.Filter.SetHelp("\\", "show only matching layers, and those around them")
	k.Bind(
		page.NewKey("E", "expand or collapse all", page.Act(p.turnAll)),
		page.NewKey("m", "to the layer that keeps the most", p.toLargest),
	)
}
