package timeline

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
	Bands, Mode, Axis, Reserved, Fit, PanLeft, PanRight, Whole, StepBack, Step, NextMark, PreviousMark key.Binding
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion(), pane: keys.NewPane()}
	k.mine = pageKeys{
		Bands:    keys.New("c", "bands by category, by stack, by allocation", "c"),
		Mode:     keys.New("m", "live memory, or cached segments", "m"),
		Axis:     keys.New("t", "x axis in events or in time", "t"),
		Reserved: keys.New("r", "show or hide the reserved line", "r"),
		Fit:      keys.New("f", "y axis from zero, or only what changes in the window", "f"),
		PanLeft:  keys.New("H", "move the window left", "H", "shift+left"),
		PanRight: keys.New("L", "move the window right", "L", "shift+right"),
		Whole:    keys.New("a", "show all of the trace", "a"),
		StepBack: keys.New(",", "one event back", ","), Step: keys.New(".", "one event on", "."),
		NextMark:     keys.New("}", "to the next annotation or setting", "}"),
		PreviousMark: keys.New("{", "to the previous annotation or setting", "{"),
	}
	k.motion.Left.SetHelp("← h", "cursor left")
	k.motion.Right.SetHelp("→ l", "cursor right")
	k.pane.Open.SetHelp("enter", "band: its stacks; stack: its allocations; allocation: its event")
	k.pane.ZoomIn.SetHelp("+", "zoom in around the cursor")
	k.pane.ZoomOut.SetHelp("-", "zoom out")
	k.pane.Other.SetHelp("v", "the other list: bands, or all that is alive")
	k.pane.Search.SetHelp("/", "search the list")
	k.pane.Filter.SetHelp("\\", "filter what is alive by stack or address")
	k.pane.Expand.SetHelp("e", "all frames, or the telling ones")
	k.pane.SortLeft.SetHelp("<", "sort what is alive by size or by age")
	k.pane.SortRight.SetHelp(">", "sort what is alive by size or by age")
	return k
}

// Bindings returns the page's own keys.
func (k pageKeys) Bindings() []key.Binding {
	return []key.Binding{
		k.Bands, k.Mode, k.Axis, k.Reserved, k.Fit, k.PanLeft, k.PanRight, k.Whole, k.StepBack, k.Step, k.PreviousMark, k.NextMark,
	}
}

var signs = []keys.Term{
	keys.Explain("─", "reserved"), keys.Explain("▼", "the peak"), keys.Explain("✗", "out of memory"), keys.Explain("◆", "a setting changed"),
	keys.Explain("░", "events are missing here"),
}

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Timeline", Bindings: append(p.keys.mine.Bindings(), p.keys.pane.Bindings()...)},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
		{Title: "Signs", Terms: append(page.CategoryTerms(p.scene.Theme), signs...)},
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	return []key.Binding{
		keys.Short(k.pane.ZoomIn, "zoom"), keys.Short(k.mine.Bands, "bands"), keys.Short(k.pane.Open, "into"),
		keys.Short(k.pane.Other, "alive"), keys.Short(k.mine.Axis, "time"), keys.Short(k.mine.Mode, "segments"),
		keys.Short(k.mine.Fit, "fit y"), keys.Short(k.mine.Whole, "whole"),
	}
}
