package experiments

import (
	"charm.land/bubbles/v2/key"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

type keyMap struct {
	motion keys.Motion
	pane   keys.Pane
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion(), pane: keys.NewPane()}
	k.pane.Open.SetHelp("enter", "setting: its choices; choice: use it; change: its place in time")
	k.pane.Other.SetHelp("v", "settings, or changes")
	k.pane.Copy.SetHelp("y", "copy the experiment")
	keys.Disable(&k.pane.ZoomIn, &k.pane.ZoomOut, &k.pane.Expand, &k.pane.Search, &k.pane.Next, &k.pane.Previous, &k.pane.Filter,
		&k.pane.SortLeft, &k.pane.SortRight, &k.pane.Invert)
	k.motion.Sideways("scroll the detail up", "scroll the detail down")
	return k
}

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Experiments", Bindings: p.keys.pane.Bindings()},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	switch p.focus {
	case choices:
		return []key.Binding{keys.Short(k.pane.Open, "use it from the next step on"), keys.New("esc", "back")}
	case options:
		return []key.Binding{keys.Short(k.pane.Open, "choose a value"), keys.Short(k.pane.Other, "changes"), keys.Short(k.pane.Copy, "copy")}
	default:
		return []key.Binding{keys.Short(k.pane.Other, "settings"), keys.Short(k.pane.Open, "when it was"), keys.Short(k.pane.Copy, "copy")}
	}
}
