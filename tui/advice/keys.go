package advice

import (
	"charm.land/bubbles/v2/key"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

type keyMap struct {
	motion keys.Motion
	pane   keys.Pane
	target key.Binding
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion(), pane: keys.NewPane(), target: keys.New("f", "find settings that fit into a size", "f")}
	k.pane.Open.SetHelp("enter", "make this change from the next step on")
	k.pane.Copy.SetHelp("y", "copy what is said of it")
	keys.Disable(&k.pane.ZoomIn, &k.pane.ZoomOut, &k.pane.Expand, &k.pane.Other, &k.pane.Search, &k.pane.Next, &k.pane.Previous,
		&k.pane.Filter, &k.pane.SortLeft, &k.pane.SortRight, &k.pane.Invert)
	k.motion.Sideways("scroll the detail up", "scroll the detail down")
	return k
}

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Advice", Bindings: append([]key.Binding{p.keys.target}, p.keys.pane.Bindings()...), Terms: []keys.Term{
			keys.Explain("≈", "estimated from what a step has to do; without it, it follows from measured times"),
			keys.Explain("past error", "how far past predictions were off, on average: of the peak, of the step time"),
		}},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	return []key.Binding{keys.Short(k.pane.Open, "make this change"), keys.Short(k.target, "fit into a size"), keys.Short(k.pane.Copy, "copy")}
}
