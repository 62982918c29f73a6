package layers

import (
	"charm.land/bubbles/v2/key"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

type keyMap struct {
	motion keys.Motion
	pane   keys.Pane
	mine   pageKeys
}

// pageKeys are the keys of this page alone.
type pageKeys struct {
	All, Largest key.Binding
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion(), pane: keys.NewPane()}
	k.mine = pageKeys{
		All:     keys.New("E", "expand or collapse all", "E"),
		Largest: keys.New("m", "to the layer that keeps the most", "m"),
	}
	k.motion.Sideways("collapse, or to the layer around", "expand, or to the first layer inside")
	k.pane.Open.SetHelp("enter", "expand or collapse")
	k.pane.Search.SetHelp("/", "search names and classes")
	k.pane.Filter.SetHelp("\\", "show only matching layers, and those around them")
	keys.Disable(&k.pane.ZoomIn, &k.pane.ZoomOut, &k.pane.Other)
	return k
}

// Bindings returns the page's own keys.
func (k pageKeys) Bindings() []key.Binding { return []key.Binding{k.All, k.Largest} }

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Layers", Bindings: append(p.keys.mine.Bindings(), p.keys.pane.Bindings()...)},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	return []key.Binding{
		keys.Short(k.pane.Expand, "fold"), keys.Short(k.pane.SortRight, "sort"), keys.Short(k.mine.Largest, "largest"),
		keys.Short(k.pane.Filter, "filter"), keys.Short(k.mine.All, "all"), keys.Short(k.pane.Copy, "copy"),
	}
}
