package page

import "github.com/memtop/memtop/tui/screen"

// DrawNeeds draws the title of a page that has nothing to show, and in the middle
// a sentence that says what the page would need.
func DrawNeeds(c screen.Canvas, title, sentence string) {
	c.Rule(0, title, "", true)
	lines := screen.Wrap(sentence, min(c.Width()-8, 72))
	y := max((c.Height()-len(lines))/2, 1)
	for i, line := range lines {
		c.Middle(0, y+i, c.Width(), line, screen.Plain)
	}
}
