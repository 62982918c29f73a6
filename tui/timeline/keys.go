package timeline

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Hint = []string{"+ zoom", "c bands", "enter into", "v alive", "t time", "f fit y", "a whole"}
	p.First, p.CellPace = p.key, 90*time.Microsecond
	p.Signs, p.Letters = signs, true
	k := &p.Keys
	keys.Enable(&k.Pane.ZoomIn, &k.Pane.ZoomOut, &k.Pane.Other)
	k.Motion.Sideways("cursor left", "cursor right")
	k.Pane.Open.SetHelp("enter", "band: its stacks; stack: its allocations; allocation: its event")
	k.Pane.ZoomIn.SetHelp("+", "zoom in around the cursor")
	k.Pane.ZoomOut.SetHelp("-", "zoom out")
	k.Pane.Other.SetHelp("v", "the other list: bands, or all that is alive")
	k.Pane.Search.SetHelp("/", "search the list")
	k.Pane.Filter.SetHelp("\\", "filter what is alive by stack or address")
	k.Pane.Expand.SetHelp("e", "all frames, or the most informative ones")
	k.Pane.SortLeft.SetHelp("<", "sort what is alive by size or by age")
	k.Pane.SortRight.SetHelp(">", "sort what is alive by size or by age")
	k.Bind(
		page.NewKey("c", "bands by category, or by allocation", page.Act(p.turnBands)),
		page.NewKey("t", "x axis in events or in time", p.toggleTime),
		page.NewKey("r", "show or hide the reserved line", page.Turn(&p.reserved)),
		page.NewKey("f", "y axis from zero, or only the range of the window", page.Turn(&p.fit)),
		page.NewKey("H", "move the window left", page.Act(func() { p.pan(-0.5) }), "shift+left"),
		page.NewKey("L", "move the window right", page.Act(func() { p.pan(0.5) }), "shift+right"),
		page.NewKey("a", "show all of the trace", page.Act(p.showWhole)),
		page.NewKey(",", "one event back", page.Act(func() { p.Scene.Move(p.Scene.Cursor() - 1) })),
		page.NewKey(".", "one event on", page.Act(func() { p.Scene.Move(p.Scene.Cursor() + 1) })),
		page.NewKey("{", "to the previous annotation or setting", func() tea.Cmd { return p.toMark(-1) }),
		page.NewKey("}", "to the next annotation or setting", func() tea.Cmd { return p.toMark(1) }),
	)
}

var signs = []keys.Term{
	keys.Explain("─", "reserved"), keys.Explain("▼", "the peak"), keys.Explain("✗", "out of memory"), keys.Explain("◆", "a setting changed"),
	keys.Explain("░", "events are missing here"),
}
