package overview

import "github.com/memtop/memtop/tui/screen"

// section is one titled part of the page.
type section struct {
	rows int // the title included
	draw func(c screen.Canvas)
}

// listed is a section with a title and n rows, each of which draw draws at y.
func listed(title, right string, n int, draw func(c screen.Canvas, y, i int)) section {
	return section{1 + n, func(c screen.Canvas) {
		c.Rule(0, title, right, false)
		for i := range n {
			draw(c, 1+i, i)
		}
	}}
}

// wide is the smallest width at which the page has two columns.
const wide = 120

// split returns the widths of the columns; the right one is 0 when there is
// only one.
func split(w int) (left, right int) {
	if w < wide {
		return w, 0
	}
	left = min(w/2, 100)
	return left, w - left - 1
}

// historyWidth is how many columns the history has.
func historyWidth(w int) int {
	left, right := split(w)
	if right > 0 {
		return right - 2
	}
	return left - 2
}

// frame is the room of the page and its use.
type frame struct {
	left, right int // widths of the columns, right 0 when there is only one
	h           int
	compact     bool // no empty rows between parts, and only what is not zero
}

func newFrame(w, h int) frame {
	left, right := split(w)
	return frame{left, right, h, right == 0 && h < 30}
}

// gap is how many empty rows are between parts.
func (f frame) gap() int {
	if f.compact {
		return 0
	}
	return 1
}

// sentences is how many rows the chosen finding has on a small screen of a
// running program: always as many, so that nothing below it jumps.
const sentences = 2

// findingRows is how many rows the findings may take.
func (f frame) findingRows() int {
	if f.right == 0 {
		return max(f.h/4, 4)
	}
	return f.h / 2
}

// sections returns the page's parts for the left and the right column. With
// one column both stand in the left.
func (p *Page) sections(f frame) (l, r []section) {
	if a := p.failed(); a != nil {
		return p.failureSections(f, a)
	}
	if p.live() {
		return p.liveSections(f)
	}
	if f.right == 0 {
		return []section{
			p.devices(f.left), p.findings(f.left, f.findingRows()), p.gauges(), p.waterfall(f.compact), p.holders(6), p.history(4), p.steps(),
			p.ooms(), p.pools(), p.graphs(), p.pinned(), p.source(), p.settings(),
		}, nil
	}
	l = []section{p.devices(f.left), p.findings(f.left, f.findingRows()), p.gauges(), p.waterfall(false), p.settings()}
	r = []section{p.steps(), p.holders(min(max(f.h/3, 6), holderCount)), p.ooms(), p.pools(), p.graphs(), p.pinned(), p.source()}
	left := f.h - f.total(r) - 3 - f.gap()
	return l, append([]section{p.history(min(max(left, 5), 24))}, r...)
}

// height returns the rows that the longest column takes.
func (p *Page) height(f frame) int {
	l, r := p.sections(f)
	return max(f.total(l), f.total(r))
}

func (f frame) total(sections []section) int {
	n := 0
	for _, s := range sections {
		if s.rows > 0 {
			n += s.rows + f.gap()
		}
	}
	return n - f.gap()
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	f := newFrame(w, h)
	l, r := p.sections(f)
	p.column(c.Sub(screen.Rect{W: f.left, H: h}), l, f)
	if f.right > 0 {
		p.column(c.Sub(screen.Rect{X: f.left + 1, W: f.right, H: h}), r, f)
	}
	if scroll := p.Detail; scroll.More(h) {
		c.Right(0, h-1, w, " ↓ more ", screen.Dim)
	}
	return c.String()
}

// column draws sections one below the other, scrolled.
func (p *Page) column(c screen.Canvas, sections []section, f frame) {
	y := -p.Detail.Offset
	for _, s := range sections {
		if s.rows == 0 {
			continue
		}
		if y+s.rows > 0 && y < c.Height() {
			part := screen.New(c.Theme(), c.Width(), s.rows)
			s.draw(part)
			c.Paste(0, y, part)
		}
		y += s.rows + f.gap()
	}
}
