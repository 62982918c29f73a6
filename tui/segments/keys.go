package segments

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Rows, p.CellPace = p.rows, 60*time.Microsecond
	p.First = func(msg tea.KeyPressMsg) (tea.Cmd, bool) {
		if !p.inside {
			return nil, false
		}
		return p.blocks.Press(msg)
	}
	p.Copy = func() tea.Cmd { return page.Copied(page.CopyLines(p.detailLines()), "the detail") }
	p.Signs, p.Letters = signs, true
	k := &p.Keys.Pane
	k.Open.SetHelp("enter", "segment: its blocks; block: its allocation in Events")
	k.Search.SetHelp("/", "search address, pool, stream, type, stack")
	k.Filter.SetHelp("\\", "only segments that match")
	k.Expand.SetHelp("e", "all frames, or the most informative ones")
	p.Keys.Bind(
		page.NewKey("c", "all pools, then each pool alone", page.Act(p.turnPool)),
		page.NewKey("b", "bars of equal length, or as long as the segment", page.Turn(&p.scaled)),
	)
}

var signs = []keys.Term{
	keys.Explain("▒ ▓", "live in part"),
	keys.Explain("·", "free: cached by the allocator"),
	keys.Explain("p", "freed, but another stream may still use it"),
	keys.Explain("P", "pinned: more is free than live, and cannot go back to the device while that lives"),
	keys.Explain("E", "empty: nothing is live, all of it can go back"),
	keys.Explain("X", "expandable: can grow, and goes back page by page"),
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	open := "enter blocks"
	if p.inside {
		open = "enter allocation"
	}
	return p.Keys.Hints(open, "> sort", "I invert", "\\ filter", "c pool", "b scale", "y copy")
}
