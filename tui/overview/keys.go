package overview

import (
	"charm.land/bubbles/v2/key"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

type keyMap struct {
	motion keys.Motion
	mine   pageKeys
}

// pageKeys are the keys of this page.
type pageKeys struct {
	Moment, Next, Previous, Open, Rules, Copy key.Binding
}

func newKeyMap(s *page.Scene) keyMap {
	k := keyMap{motion: s.Motion()}
	k.mine = pageKeys{
		Moment:   keys.New("c", "at the peak, at the end, at the cursor", "c"),
		Next:     keys.New("n", "next finding, then the categories", "n"),
		Previous: keys.New("N", "previous finding or category", "N"),
		Open:     keys.New("enter", "show the finding's moment, or which rules gave the category", "enter"),
		Rules:    keys.New("e", "which rules gave all categories", "e"),
		Copy:     keys.New("y", "copy the findings", "y"),
	}
	if s.Live() != nil {
		k.mine.Moment.SetHelp("c", "at the peak of the last step, or now")
	}
	k.motion.Up.SetHelp("↑ k", "scroll up")
	k.motion.Down.SetHelp("↓ j", "scroll down")
	k.motion.Left.SetEnabled(false)
	k.motion.Right.SetEnabled(false)
	return k
}

// Bindings returns the page's own keys.
func (k pageKeys) Bindings() []key.Binding {
	return []key.Binding{k.Moment, k.Next, k.Previous, k.Open, k.Rules, k.Copy}
}

var signs = []keys.Term{
	keys.Explain("✗ ! ·", "a problem, a warning, good to know"),
	keys.Explain("░", "reserved, above what is live"),
	keys.Explain("most", "the highest peak of all steps so far, and the step"),
	keys.Explain("unexplained", "used, and neither the allocator nor the driver says for what"),
}

// Help returns the page's keys.
func (p *Page) Help() []keys.Group {
	return []keys.Group{
		{Title: "Overview", Bindings: p.keys.mine.Bindings()},
		{Title: "Moving", Bindings: p.keys.motion.Bindings()},
		{Title: "Signs", Terms: signs},
	}
}

// Short returns the keys for the bottom line.
func (p *Page) Short() []key.Binding {
	k := &p.keys
	return []key.Binding{
		keys.Short(k.mine.Moment, "moment"), keys.Short(k.mine.Next, "finding"), keys.Short(k.mine.Open, "show it"),
		keys.Short(k.motion.Down, "scroll"), keys.Short(k.mine.Copy, "copy"),
	}
}
