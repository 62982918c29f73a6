package page

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/screen"
)

// Line is one line of a detail pane: a label with a value, or a frame.
type Line struct {
	Label string // left column of a pair
	Text  string // the value, or the function of a frame
	Where string // file and line of a frame
	Style screen.Style
}

// Pair returns a line with a label and a value.
func Pair(label, text string) Line { return Line{Label: label, Text: text} }

// sentenceWidth is the width at which sentences wrap: that of a detail in a
// terminal of 80 columns.
const sentenceWidth = 64

// continued is the label of the further lines of a sentence.
const continued = " "

// Sentence returns a label with a value that is too long for a line.
func Sentence(label, text string) []Line {
	var lines []Line
	for _, part := range screen.Wrap(text, sentenceWidth) {
		lines = append(lines, Pair(label, part))
		label = continued
	}
	return lines
}

// Heading returns a line that stands above others.
func Heading(text string) Line { return Line{Text: text, Style: screen.Strong} }

// Copy returns the line as it goes to the clipboard.
func (l Line) Copy() string {
	switch {
	case l.Where != "":
		return l.Where + " " + l.Text
	case l.Label == continued:
		return "  " + l.Text
	case l.Label != "":
		return l.Label + ": " + l.Text
	default:
		return l.Text
	}
}

// CopyLines joins lines for the clipboard.
func CopyLines(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Copy())
		b.WriteByte('\n')
	}
	return b.String()
}

// labelWidth is the width of the left column of pairs.
const labelWidth = 11

// Reader is a scrolling pane of lines.
type Reader struct {
	Offset int
	count  int
	height int
}

// Resize sets how many lines there are and how many fit.
func (r *Reader) Resize(count, height int) {
	r.count, r.height = count, max(height, 1)
	r.Offset = min(max(r.Offset, 0), max(r.count-r.height, 0))
}

// Scroll moves by a number of lines.
func (r *Reader) Scroll(by int) {
	r.Offset += by
	r.Resize(r.count, r.height)
}

// Wheel scrolls by the mouse wheel.
func (r *Reader) Wheel(msg tea.MouseWheelMsg) {
	switch msg.Button {
	case tea.MouseWheelUp:
		r.Scroll(-3)
	case tea.MouseWheelDown:
		r.Scroll(3)
	default: // sideways
	}
}

// Sideways scrolls by the left and right keys, and reports whether msg was one.
// Those are free on a page whose other keys move through a list.
func (r *Reader) Sideways(msg tea.KeyPressMsg, m keys.Motion) bool {
	switch {
	case key.Matches(msg, m.Left):
		r.Scroll(-1)
	case key.Matches(msg, m.Right):
		r.Scroll(1)
	default:
		return false
	}
	return true
}

// More reports whether there are lines below the h visible ones.
func (r *Reader) More(h int) bool { return r.Offset+h < r.count }

// Key scrolls and reports whether msg was a key for that.
func (r *Reader) Key(msg tea.KeyPressMsg, m keys.Motion) bool {
	switch {
	case key.Matches(msg, m.Up):
		r.Scroll(-1)
	case key.Matches(msg, m.Down):
		r.Scroll(1)
	case key.Matches(msg, m.PageUp):
		r.Scroll(-r.height)
	case key.Matches(msg, m.PageDown):
		r.Scroll(r.height)
	case key.Matches(msg, m.Top):
		r.Scroll(-r.count)
	case key.Matches(msg, m.Bottom):
		r.Scroll(r.count)
	default:
		return false
	}
	return true
}

// Draw draws the lines that fit from row y on.
func (r *Reader) Draw(c screen.Canvas, y int, lines []Line) {
	for i := r.Offset; i < len(lines) && y < c.Height(); i++ {
		lines[i].draw(c, y)
		y++
	}
	if r.Offset+r.height < len(lines) && c.Height() > 0 {
		c.Right(0, c.Height()-1, c.Width(), " … ", screen.Dim)
	}
}

// Aside returns the space of a pane beside another one, without the line between
// the two; a pane below another keeps all its space.
func Aside(c screen.Canvas, beside bool) screen.Canvas {
	if !beside {
		return c
	}
	for y := range c.Height() {
		c.Set(0, y, '│', screen.Dim)
	}
	return c.Sub(screen.Rect{X: 1, W: c.Width() - 1, H: c.Height()})
}

func (l Line) draw(c screen.Canvas, y int) {
	w := c.Width() - 2
	switch {
	case l.Where != "":
		drawFrame(c, 2, y, w-1, l.Text, l.Where, l.Style)
	case l.Label != "":
		c.Fit(1, y, labelWidth-1, l.Label, screen.Dim)
		c.Fit(1+labelWidth, y, w-labelWidth, l.Text, l.Style)
	default:
		c.Fit(1, y, w, l.Text, l.Style)
	}
}

// drawFrame draws a function and then as much as fits of the end of its file and
// line.
func drawFrame(c screen.Canvas, x, y, w int, name, where string, style screen.Style) {
	if where == noSource {
		c.Fit(x, y, w, name, style)
		return
	}
	nameWidth, whereWidth := screen.Width(name), screen.Width(where)
	if nameWidth+2+whereWidth > w {
		nameWidth = min(nameWidth, max(w-2-whereWidth, w*3/5))
	}
	c.Fit(x, y, nameWidth, name, style)
	c.Text(x+nameWidth+2, y, screen.TruncateLeft(where, w-nameWidth-2), screen.Dim)
}

// DrawAt draws a frame into w cells.
func (l Line) DrawAt(c screen.Canvas, x, y, w int) { drawFrame(c, x, y, w, l.Text, l.Where, l.Style) }
