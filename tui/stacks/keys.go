package stacks

import (
	"time"

	"charm.land/bubbles/v2/key"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Rows, p.CellPace = p.rows, 60*time.Microsecond
	p.First, p.Copy, p.Expand, p.Sideways = p.graphKey, p.copy, p.expand, p.sideways
	p.Signs = []keys.Term{
		keys.Explain("+9 …", "in the flame graph: nine frames above, of the same bytes, are left out"),
		keys.Explain("+ - =", "in flame graphs of two sides: it grew, shrank, stayed"),
	}
	k := &p.Keys
	keys.Enable(&k.Pane.ZoomIn, &k.Pane.ZoomOut)
	k.Pane.Open.SetHelp("enter", "tree: expand; flame graph: zoom into the frame")
	k.Pane.Search.SetHelp("/", "search for a frame")
	k.Pane.Filter.SetHelp("\\", "only stacks with a matching frame")
	k.Pane.ZoomIn.SetHelp("+", "flame graph: zoom into the frame")
	k.Pane.ZoomOut.SetHelp("-", "flame graph: zoom out")
	k.Motion.Right = keys.New("→", "right", "right") // l shows lines
	k.Motion.Sideways("collapse, to the caller; flame: to the left", "expand; flame: to the right")
	k.Bind(
		page.NewKey("t", "tree or flame graph", page.Act(p.turnGraph)),
		page.NewKey("l", "by line of code; again: by function, file, module", page.Act(p.turnLines)),
		page.NewKey("v", "compare with the other file, or with the peak of this one", p.turnVersus),
		page.NewKey("c", "at the cursor, at the peak, at the end", page.Act(func() { p.moment = (p.moment + 1) % moments })),
		page.NewKey("i", "outermost or innermost frame first", page.Turn(&p.innermost)),
		page.NewKey("r", "hide or show frames of the runtime; by line: of libraries too", page.Turn(&p.runtime)),
		page.NewKey("E", "expand or collapse everything", page.Act(p.toggleAll)),
	)
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	if p.versus.on {
		by := "l by " + ((p.versus.by + 1) % ways).String()
		if p.versus.flame {
			return p.Keys.Hints("t table", by, "c moment", "v back", "enter zoom", "i order")
		}
		return p.Keys.Hints("t flame graphs", by, "c moment", "v back", "/ search", "y copy")
	}
	if p.flat.on {
		return p.Keys.Hints("t tree", "l by "+((p.flat.by+1)%lines.Ways).String(), "c moment", "r libraries", "enter its stacks", "/ search")
	}
	toggle := "t flame graph"
	if p.flame {
		toggle = "t tree"
	}
	return p.Keys.Hints(toggle, "l by line", "v compare", "c moment", "i order", "\\ filter", "/ search", "e expand", "y copy")
}
