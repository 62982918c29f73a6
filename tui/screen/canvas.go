package screen

import (
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
)

type cell struct {
	r     rune // 0 for the right half of a wide character
	style Style
}

// Canvas is a window onto a grid of cells. Copies share the grid. Drawing outside
// the window has no effect. One goroutine owns it.
type Canvas struct {
	cells      []cell
	stride     int
	x, y, w, h int
	theme      *Theme
}

// New returns an empty canvas of w×h cells.
func New(t *Theme, w, h int) Canvas {
	w, h = max(w, 0), max(h, 0)
	cells := make([]cell, w*h)
	for i := range cells {
		cells[i].r = ' '
	}
	return Canvas{cells: cells, stride: w, w: w, h: h, theme: t}
}

// Width returns the canvas's width in cells.
func (c Canvas) Width() int { return c.w }

// Height returns the canvas's height in cells.
func (c Canvas) Height() int { return c.h }

// Theme returns the theme that the canvas is drawn with.
func (c Canvas) Theme() *Theme { return c.theme }

// Sub returns the part of c inside r, which is cut to fit.
func (c Canvas) Sub(r Rect) Canvas {
	r = r.Clip(Rect{W: c.w, H: c.h})
	c.x, c.y, c.w, c.h = c.x+r.X, c.y+r.Y, r.W, r.H
	return c
}

// Set draws one narrow character.
func (c Canvas) Set(x, y int, r rune, s Style) {
	if x < 0 || y < 0 || x >= c.w || y >= c.h {
		return
	}
	c.cells[(c.y+y)*c.stride+c.x+x] = cell{r, s}
}

// Restyle changes the style of n cells from x, and keeps their content.
func (c Canvas) Restyle(x, y, n int, change func(Style) Style) {
	if y < 0 || y >= c.h {
		return
	}
	for i := max(x, 0); i < min(x+n, c.w); i++ {
		p := &c.cells[(c.y+y)*c.stride+c.x+i]
		p.style = change(p.style)
	}
}

// Select marks row y as the one under the cursor.
func (c Canvas) Select(y int) { c.Highlight(0, y, c.w) }

// Highlight marks n cells of row y as being under the cursor.
func (c Canvas) Highlight(x, y, n int) {
	c.Restyle(x, y, n, func(s Style) Style {
		if c.theme.Colour {
			return Style{Fg: s.Fg, Bg: Selection, Attr: s.Attr | Bold}
		}
		return Style{Attr: s.Attr | Reverse}
	})
}

// Paste copies the content of o, with its top left corner at x, y.
func (c Canvas) Paste(x, y int, o Canvas) {
	for oy := max(0, -y); oy < min(o.h, c.h-y); oy++ {
		from := (o.y+oy)*o.stride + o.x
		to := (c.y+y+oy)*c.stride + c.x + x
		copy(c.cells[to:to+max(min(o.w, c.w-x), 0)], o.cells[from:from+o.w])
	}
}

// Rune returns the character at a cell, 0 outside.
func (c Canvas) Rune(x, y int) rune {
	if x < 0 || y < 0 || x >= c.w || y >= c.h {
		return 0
	}
	return c.cells[(c.y+y)*c.stride+c.x+x].r
}

// Text writes s from x on and returns the column after it. It cuts off the rest
// without a mark; see [Canvas.Fit].
func (c Canvas) Text(x, y int, s string, style Style) int {
	for _, r := range s {
		r, w := printable(r)
		if w == 0 {
			continue
		}
		if x+w > c.w {
			return x
		}
		c.Set(x, y, r, style)
		if w == 2 {
			c.Set(x+1, y, 0, style)
		}
		x += w
	}
	return x
}

// Fit writes s into w cells from x, with an ellipsis when it is cut.
func (c Canvas) Fit(x, y, w int, s string, style Style) {
	c.Text(x, y, Truncate(s, min(w, c.w-x)), style)
}

// Right writes s so that it ends before column x+w.
func (c Canvas) Right(x, y, w int, s string, style Style) {
	s = Truncate(s, w)
	c.Text(x+w-Width(s), y, s, style)
}

// Middle writes s in the middle of w cells.
func (c Canvas) Middle(x, y, w int, s string, style Style) {
	s = Truncate(s, w)
	c.Text(x+(w-Width(s))/2, y, s, style)
}

// Rule draws a title with a line after it across the whole width.
func (c Canvas) Rule(y int, title, right string, focused bool) {
	line, text := Dim, Strong
	if focused {
		line, text = Style{Fg: Accent}, Title
	}
	for x := range c.w {
		c.Set(x, y, '─', line)
	}
	room := c.w - 4
	if title != "" && room > 0 {
		title = Truncate(title, room)
		if focused {
			c.Set(0, y, '▌', line)
		}
		c.Text(1, y, " "+title+" ", text)
		room -= Width(title) + 3
	}
	if w := Width(right); right != "" && w <= room {
		c.Text(c.w-w-3, y, " "+right+" ", Dim)
	}
}

// Bar draws a horizontal bar of w cells of which share (0 to 1) is full, in
// eighths of a cell.
func (c Canvas) Bar(x, y, w int, share float64, style Style) {
	eighths := int(min(max(share, 0), 1)*float64(w*8) + 0.5)
	if share > 0 && eighths == 0 {
		eighths = 1
	}
	for i := range w {
		switch n := eighths - 8*i; {
		case n >= 8:
			c.Set(x+i, y, '█', style)
		case n > 0:
			c.Set(x+i, y, rowEighths[n], style)
		}
	}
}

var rowEighths = [...]rune{' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'}

// String returns the canvas as lines of exactly its width.
func (c Canvas) String() string {
	var b strings.Builder
	b.Grow(c.w * c.h * 4)
	for y := range c.h {
		if y > 0 {
			b.WriteByte('\n')
		}
		c.row(&b, y)
	}
	return b.String()
}

func (c Canvas) row(b *strings.Builder, y int) {
	last := Style{}
	from := (c.y+y)*c.stride + c.x
	for _, cl := range c.cells[from : from+c.w] {
		if cl.r == 0 {
			continue
		}
		if cl.style != last {
			if c.theme.begin(last) != "" {
				b.WriteString("\x1b[m")
			}
			b.WriteString(c.theme.begin(cl.style))
			last = cl.style
		}
		if c.theme.ASCII && cl.r > '~' {
			writeASCII(b, cl.r)
			continue
		}
		b.WriteRune(cl.r)
	}
	if c.theme.begin(last) != "" {
		b.WriteString("\x1b[m")
	}
}

// printable returns r or its substitute, and its width in cells. Marks and
// joiners have no width, because they would change the cells around them.
func printable(r rune) (rune, int) {
	switch {
	case r >= ' ' && r <= '~':
		return r, 1
	case r == '\t':
		return ' ', 1
	case r < ' ' || r >= 0x7f && r < 0xa0 || r == unicode.ReplacementChar:
		return '?', 1
	case r >= 0x2500 && r < 0x2600: // our own lines and blocks, the most frequent characters
		return r, 1
	case unicode.In(r, unicode.Mn, unicode.Mc, unicode.Me, unicode.Cf):
		return 0, 0
	case r >= 0x1f1e6 && r <= 0x1f1ff || r >= 0x1f3fb && r <= 0x1f3ff:
		return '?', 1 // halves of flags and skin tones join their neighbours
	case !unicode.IsPrint(r):
		return '?', 1 // separators, and what is no character or one for private use
	}
	return r, min(lipgloss.Width(string(r)), 2)
}
