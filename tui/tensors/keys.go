package tensors

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
	View, Worrying, Moment key.Binding
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion(), pane: keys.NewPane()}
	k.mine = pageKeys{
		View:     keys.New("t", "by where they were created, or tensor by tensor", "t"),
		Worrying: keys.New("f", "only what grows or leaks, or all", "f"),
		Moment:   keys.New("c", "at the end: after the last step, or at the last event", "c"),
	}
	k.mine.Moment.SetEnabled(s.Live() != nil)
	k.pane.Open.SetHelp("enter", "site: its tensors; tensor: its stack; stack: the event")
	k.pane.Search.SetHelp("/", "search verdict, place, name, category, shape, dtype")
	k.pane.Filter.SetHelp("\\", "only what matches, as suspected or activation")
	k.pane.Expand.SetHelp("e", "all frames, or the telling ones")
	keys.Disable(&k.pane.ZoomIn, &k.pane.ZoomOut, &k.pane.Other)
	k.motion.Sideways("scroll the detail up", "scroll the detail down")
	return k
}

// Bindings returns the page's own keys.
func (k pageKeys) Bindings() []key.Binding { return []key.Binding{k.View, k.Worrying, k.Moment} }

var signs = []keys.Term{
	keys.Explain("⚠", "a leak: unreachable for certain, suspected when it grew for long"),
	keys.Explain("▲", "grows; too early to call it a leak"),
	keys.Explain("?", "behind a category: guessed"),
	keys.Explain("+", "behind an age: it may be more"),
}

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Tensors", Bindings: append(p.keys.mine.Bindings(), p.keys.pane.Bindings()...)},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
		{Title: "Signs", Terms: signs},
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	if p.read != nil {
		return []key.Binding{keys.Short(k.pane.Open, "event"), keys.Short(k.pane.Copy, "copy")}
	}
	open, other := "tensors", "single"
	switch p.view {
	case sites:
	case inside:
		open, other = "stack", "by site"
	case single:
		open, other = "stack", "by site"
	}
	return []key.Binding{
		keys.Short(k.pane.Open, open), keys.Short(k.mine.View, other), keys.Short(k.mine.Worrying, "suspects"),
		keys.Short(k.pane.SortRight, "sort"), keys.Short(k.pane.Invert, "invert"), keys.Short(k.pane.Filter, "filter"),
		keys.Short(k.pane.Search, "search"), keys.Short(k.pane.Copy, "copy"),
	}
}
