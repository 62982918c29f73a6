package ranks

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind(runs bool) {
	p.Hint = []string{"enter go into the rank", "> sort", "\\ filter", "y copy"}
	p.Rows = func() page.Rows { return &p.table }
	p.Copy = func() tea.Cmd { return page.Copied(page.CopyLines(p.said), "the findings and the rank") }
	p.Terms = []keys.Term{
		keys.Explain("peak", "of the last step: what was allocated at most"),
		keys.Explain(activationHead, "activations when the last step's memory was highest"),
		keys.Explain(skewHead, "the peak against the median of all ranks"),
		keys.Explain(headroomHead, "what the last step left of the device: capacity less other programs less the peak of what was reserved"),
		keys.Explain(leakHead, "by how much memory at the ends of steps grows a step"),
		keys.Explain(trendHead, "what was allocated lately, all ranks on one scale"),
	}
	k := &p.Keys
	if runs {
		k.Motion.NowAtEnd()
	}
	k.Pane.Open.SetHelp("enter", "go into the rank; esc comes back")
	k.Pane.Copy.SetHelp("y", "copy the findings and what is said of the rank")
	k.Pane.Expand.SetEnabled(false)
	k.Bind()
}
