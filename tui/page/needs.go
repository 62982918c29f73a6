package page

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"memtop/tui/keys"
	"memtop/tui/screen"
)

// Needs is a page that has nothing to show and says in a sentence what it would
// need.
type Needs struct {
	scene           *Scene
	title, sentence string
}

// NewNeeds returns the page of a scene.
func NewNeeds(s *Scene, title, sentence string) *Needs { return &Needs{s, title, sentence} }

// Update does nothing.
func (*Needs) Update(tea.Msg) tea.Cmd { return nil }

// Refresh asks for nothing.
func (*Needs) Refresh(int, int) tea.Cmd { return nil }

// View draws the sentence.
func (p *Needs) View(w, h int) string {
	c := screen.New(p.scene.Theme, w, h)
	DrawNeeds(c, p.title, p.sentence)
	return c.String()
}

// Help returns no keys.
func (*Needs) Help() []keys.Group { return nil }

// Short returns no keys.
func (*Needs) Short() []key.Binding { return nil }

// DrawNeeds draws a page's title and, in the middle, a sentence.
func DrawNeeds(c screen.Canvas, title, sentence string) {
	c.Rule(0, title, "", true)
	lines := screen.Wrap(sentence, min(c.Width()-8, 72))
	y := max((c.Height()-len(lines))/2, 1)
	for i, line := range lines {
		c.Middle(0, y+i, c.Width(), line, screen.Plain)
	}
}
