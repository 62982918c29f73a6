package stacks

import (
	"charm.land/bubbles/v2/key"

	"github.com/memtop/memtop/snapshots/analysis/lines"
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
	Toggle, Lines, Versus, Moment, Order, Runtime, ExpandAll key.Binding
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion(), pane: keys.NewPane()}
	k.mine = pageKeys{
		Toggle:    keys.New("t", "tree or flame graph", "t"),
		Lines:     keys.New("l", "whose line it is: by line; again by function, file, module", "l"),
		Versus:    keys.New("v", "compare with the other file, or with the peak of this one", "v"),
		Moment:    keys.New("c", "at the cursor, at the peak, at the end", "c"),
		Order:     keys.New("i", "outermost or innermost frame first", "i"),
		Runtime:   keys.New("r", "hide or show the runtime's frames; lines: of libraries too", "r"),
		ExpandAll: keys.New("E", "expand or collapse everything", "E"),
	}
	k.pane.Open.SetHelp("enter", "tree: expand; flame graph: zoom into the frame")
	k.pane.Search.SetHelp("/", "search for a frame")
	k.pane.Filter.SetHelp("\\", "only stacks with a matching frame")
	k.pane.ZoomIn.SetHelp("+", "flame graph: zoom into the frame")
	k.pane.ZoomOut.SetHelp("-", "flame graph: zoom out")
	k.pane.Other.SetEnabled(false)
	k.motion.Right = keys.New("→", "right", "right") // l shows lines
	k.motion.Sideways("collapse, to the caller; flame: to the left", "expand; flame: to the right")
	return k
}

// Bindings returns the page's own keys.
func (k pageKeys) Bindings() []key.Binding {
	return []key.Binding{k.Toggle, k.Lines, k.Versus, k.Moment, k.Order, k.Runtime, k.ExpandAll}
}

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Stacks", Bindings: append(p.keys.mine.Bindings(), p.keys.pane.Bindings()...)},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
		{Title: "Signs", Terms: []keys.Term{
			keys.Explain("+9 …", "in the flame graph: nine frames above, of the same bytes, are left out"),
			keys.Explain("+ - =", "in flame graphs of two sides: it grew, shrank, stayed"),
		}},
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	if p.versus.on {
		return p.versusShort()
	}
	if p.flat.on {
		return []key.Binding{
			keys.Short(k.mine.Toggle, "tree"), keys.Short(k.mine.Lines, "by "+((p.flat.by+1)%lines.Ways).String()), keys.Short(k.mine.Moment, "moment"),
			keys.Short(k.mine.Runtime, "libraries"), keys.Short(k.pane.Open, "its stacks"), keys.Short(k.pane.Search, "search"),
		}
	}
	toggle := "flame graph"
	if p.flame {
		toggle = "tree"
	}
	return []key.Binding{
		keys.Short(k.mine.Toggle, toggle), keys.Short(k.mine.Lines, "by line"), keys.Short(k.mine.Versus, "compare"), keys.Short(k.mine.Moment, "moment"), keys.Short(k.mine.Order, "order"),
		keys.Short(k.pane.Filter, "filter"), keys.Short(k.pane.Search, "search"), keys.Short(k.pane.Expand, "expand"),
		keys.Short(k.pane.Copy, "copy"),
	}
}

// versusShort are those while things are compared.
func (p *Page) versusShort() []key.Binding {
	k := &p.keys
	toggle, others := "flame graphs", []key.Binding{keys.Short(k.pane.Search, "search"), keys.Short(k.pane.Copy, "copy")}
	if p.versus.flame {
		toggle, others = "table", []key.Binding{keys.Short(k.pane.Open, "zoom"), keys.Short(k.mine.Order, "order")}
	}
	return append([]key.Binding{
		keys.Short(k.mine.Toggle, toggle), keys.Short(k.mine.Lines, "by "+((p.versus.by+1)%ways).String()), keys.Short(k.mine.Moment, "moment"),
		keys.Short(k.mine.Versus, "back"),
	}, others...)
}
