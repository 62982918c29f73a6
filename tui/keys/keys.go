// Package keys holds the key bindings that pages share and the rule that
// help is made from bindings: a key that is not in a [Group] does not exist.
package keys

import (
	"strconv"

	"charm.land/bubbles/v2/key"
)

// Group is a titled list of bindings, as help shows them, or of terms.
type Group struct {
	Title    string
	Bindings []key.Binding
	Terms    []Term
}

// Term is a sign or a word of the screen, and what it means.
type Term struct{ Sign, Means string }

// Explain returns a term.
func Explain(sign, means string) Term { return Term{sign, means} }

// New returns a binding for the given keys. Shown is how help writes them.
func New(shown, does string, names ...string) key.Binding {
	return key.NewBinding(key.WithKeys(names...), key.WithHelp(shown, does))
}

// PageKey is the key of the i-th page, counted from 0, and its number: 0 is the tenth.
func PageKey(i int) string { return strconv.Itoa((i + 1) % 10) }

// Motion are the keys that move a cursor through rows.
type Motion struct {
	Up, Down, Left, Right, Top, Bottom, PageUp, PageDown key.Binding
}

// NewMotion returns the motion keys.
func NewMotion() Motion {
	return Motion{
		Up: New("↑ k", "up", "up", "k"), Down: New("↓ j", "down", "down", "j"),
		Left: New("← h", "left", "left", "h"), Right: New("→ l", "right", "right", "l"),
		Top: New("g", "first", "g", "home"), Bottom: New("G", "last", "G", "end"),
		PageUp: New("pgup", "page up", "pgup", "ctrl+b"), PageDown: New("pgdn", "page down", "pgdown", "ctrl+f"),
	}
}

// Bindings returns all of them in the order of help.
func (m Motion) Bindings() []key.Binding {
	return []key.Binding{m.Up, m.Down, m.Left, m.Right, m.Top, m.Bottom, m.PageUp, m.PageDown}
}

// NowAtEnd leaves the End key to the whole program, which goes to the present.
func (m *Motion) NowAtEnd() { m.Bottom.SetKeys("G") }

// Sideways describes the left and right keys.
func (m *Motion) Sideways(left, right string) {
	m.Left.SetHelp(m.Left.Help().Key, left)
	m.Right.SetHelp(m.Right.Help().Key, right)
}

// Pane are the keys to search, sort, open and copy. They mean the same on every
// page.
type Pane struct {
	Search, Next, Previous, Filter             key.Binding
	SortLeft, SortRight, Invert                key.Binding
	Open, Expand, ZoomIn, ZoomOut, Copy, Other key.Binding
}

// NewPane returns the pane keys.
func NewPane() Pane {
	return Pane{
		Search: New("/", "search", "/"), Next: New("n", "next match", "n"), Previous: New("N", "previous match", "N"),
		Filter:   New("\\", "filter", "\\"),
		SortLeft: New("<", "sort by the column to the left", "<"), SortRight: New(">", "sort by the column to the right", ">"),
		Invert: New("I", "invert the order", "I"),
		Open:   New("enter", "open", "enter"), Expand: New("e", "expand or collapse", "e"),
		ZoomIn: New("+", "zoom in", "+", "="), ZoomOut: New("-", "zoom out", "-", "_"),
		Copy: New("y", "copy the row or stack", "y"), Other: New("v", "other pane", "v"),
	}
}

// Bindings returns all of them in the order of help.
func (p Pane) Bindings() []key.Binding {
	return []key.Binding{
		p.Open, p.Expand, p.Search, p.Next, p.Previous, p.Filter, p.SortLeft, p.SortRight, p.Invert,
		p.ZoomIn, p.ZoomOut, p.Copy, p.Other,
	}
}

// DisableArranging disables the keys that search, filter and sort.
func (p *Pane) DisableArranging() {
	Disable(&p.Search, &p.Next, &p.Previous, &p.Filter, &p.SortLeft, &p.SortRight, &p.Invert)
}

// Disable disables keys that a page does not use.
func Disable(bindings ...*key.Binding) {
	for _, b := range bindings {
		b.SetEnabled(false)
	}
}

// Enable enables them again.
func Enable(bindings ...*key.Binding) {
	for _, b := range bindings {
		b.SetEnabled(true)
	}
}

// Short returns the binding with a shorter description, for the bottom line.
func Short(b key.Binding, does string) key.Binding {
	b.SetHelp(b.Help().Key, does)
	return b
}
