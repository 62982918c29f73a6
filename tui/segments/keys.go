package segments

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
	Pool, Scale key.Binding
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion(), pane: keys.NewPane()}
	k.mine = pageKeys{
		Pool:  keys.New("c", "all pools, then each pool alone", "c"),
		Scale: keys.New("b", "bars of equal length, or as long as the segment", "b"),
	}
	k.pane.Open.SetHelp("enter", "segment: its blocks; block: its allocation in Events")
	k.pane.Search.SetHelp("/", "search address, pool, stream, type, stack")
	k.pane.Filter.SetHelp("\\", "only segments that match")
	k.pane.Expand.SetHelp("e", "all frames, or the telling ones")
	keys.Disable(&k.pane.ZoomIn, &k.pane.ZoomOut, &k.pane.Other)
	k.motion.Sideways("scroll the detail up", "scroll the detail down")
	return k
}

// Bindings returns the page's own keys.
func (k pageKeys) Bindings() []key.Binding { return []key.Binding{k.Pool, k.Scale} }

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Segments", Bindings: append(p.keys.mine.Bindings(), p.keys.pane.Bindings()...)},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
		{Title: "Signs", Terms: append(page.CategoryTerms(p.scene.Theme), p.signs()...)},
	}
}

func (p *Page) signs() []keys.Term {
	return []keys.Term{
		keys.Explain("▒ ▓", "live in part"),
		keys.Explain("·", "free: cached by the allocator"),
		keys.Explain("p", "freed, but another stream may still use it"),
		keys.Explain("P", "pinned: more is free than live, and cannot go back to the device while that lives"),
		keys.Explain("E", "empty: nothing is live, all of it can go back"),
		keys.Explain("X", "expandable: can grow, and goes back page by page"),
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	open := "blocks"
	if p.inside {
		open = "allocation"
	}
	return []key.Binding{
		keys.Short(k.pane.Open, open), keys.Short(k.pane.SortRight, "sort"), keys.Short(k.pane.Invert, "invert"),
		keys.Short(k.pane.Filter, "filter"), keys.Short(k.mine.Pool, "pool"), keys.Short(k.mine.Scale, "scale"), keys.Short(k.pane.Copy, "copy"),
	}
}
