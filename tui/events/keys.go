package events

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
	NextSame, PreviousSame key.Binding
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion(), pane: keys.NewPane()}
	k.pane.Open.SetHelp("enter", "the other end of the allocation")
	k.pane.Expand.SetHelp("e", "all frames, or without the runtime's")
	k.pane.Search.SetHelp("/", "search action, address, size, frames, metadata; >1MiB <1MiB")
	k.pane.Filter.SetHelp("\\", "show only matching events")
	k.pane.SortLeft.SetHelp("<", "sort by event, size, or how long it lives")
	k.pane.SortRight.SetHelp(">", "sort by event, size, or how long it lives")
	k.mine.NextSame = keys.New("}", "next event of this stack", "}")
	k.mine.PreviousSame = keys.New("{", "previous event of this stack", "{")
	keys.Disable(&k.pane.ZoomIn, &k.pane.ZoomOut, &k.pane.Other)
	k.motion.Sideways("scroll the detail up", "scroll the detail down")
	return k
}

// Bindings returns the page's own keys.
func (k pageKeys) Bindings() []key.Binding { return []key.Binding{k.NextSame, k.PreviousSame} }

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Events", Bindings: append(p.keys.pane.Bindings(), p.keys.mine.Bindings()...)},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	return []key.Binding{
		keys.Short(k.pane.Search, "search"), keys.Short(k.pane.Filter, "filter"), keys.Short(k.pane.Open, "other end"), keys.Short(k.pane.SortRight, "sort"), keys.Short(k.pane.Copy, "copy"), k.pane.Next,
	}
}
