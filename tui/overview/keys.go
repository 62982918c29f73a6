package overview

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

func (p *Page) bind() {
	p.Hint = []string{"c moment", "n finding", "enter show it", "down scroll", "y copy"}
	moment := "at the peak, at the end, at the cursor"
	if p.live() {
		moment = "at the peak of the last step, or now"
	}
	p.Signs = signs
	k := &p.Keys
	k.Pane = keys.Pane{} // nothing is listed
	k.Motion.Up.SetHelp("↑ k", "scroll up")
	k.Motion.Down.SetHelp("↓ j", "scroll down")
	keys.Disable(&k.Motion.Left, &k.Motion.Right)
	k.Bind(
		page.NewKey("c", moment, page.Act(p.turn)),
		page.NewKey("n", "next finding, then the categories", page.Act(func() { p.choose(p.place() + 1) })),
		page.NewKey("N", "previous finding or category", page.Act(func() { p.choose(p.place() - 1) })),
		page.NewKey("enter", "show the finding's moment, or which rules gave the category", p.open),
		page.NewKey("e", "which rules gave all categories", page.Turn(&p.rules)),
		page.NewKey("y", "copy the findings", func() tea.Cmd { return page.Copied(p.text(), "the findings") }),
	)
}

var signs = []keys.Term{
	keys.Explain("✗ ! ·", "a problem, a warning, good to know"),
	keys.Explain("░", "reserved, above what is live"),
	keys.Explain("most", "the highest peak of all steps so far, and the step"),
	keys.Explain("unexplained", "used, and neither the allocator nor the driver says for what"),
}
