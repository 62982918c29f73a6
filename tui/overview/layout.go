package overview

import "memtop/tui/screen"

// section is one titled part of the page.
type section struct {
	rows int // the title included
	draw func(c screen.Canvas)
}

// wide is the width from which the page has two columns.
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

// sections returns the page's parts for the left and the right column. With
// one column both stand in the left.
func (p *Page) sections(left, right int) (l, r []section) {
	l = []section{p.findings(left), p.gauges(), p.waterfall()}
	if right == 0 {
		return append(l, p.holders(), p.history(4), p.ooms(), p.pools(), p.source()), nil
	}
	return l, []section{p.history(7), p.holders(), p.ooms(), p.pools(), p.source()}
}

// height returns the rows that the longest column takes.
func (p *Page) height(left int) int {
	right := 0
	if p.w >= wide {
		_, right = split(p.w)
	}
	l, r := p.sections(left, right)
	return max(total(l), total(r))
}

func total(sections []section) int {
	n := 0
	for _, s := range sections {
		if s.rows > 0 {
			n += s.rows + 1
		}
	}
	return n - 1
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.scene.Theme, w, h)
	left, right := split(w)
	l, r := p.sections(left, right)
	p.column(c.Sub(screen.Rect{W: left, H: h}), l)
	if right > 0 {
		p.column(c.Sub(screen.Rect{X: left + 1, W: right, H: h}), r)
	}
	if scroll := p.scroll; scroll.More(h) {
		c.Right(0, h-1, w, " ↓ more ", screen.Dim)
	}
	return c.String()
}

// column draws sections one below the other, scrolled.
func (p *Page) column(c screen.Canvas, sections []section) {
	y := -p.scroll.Offset
	for _, s := range sections {
		if s.rows == 0 {
			continue
		}
		if y+s.rows > 0 && y < c.Height() {
			part := screen.New(c.Theme(), c.Width(), s.rows)
			s.draw(part)
			c.Paste(0, y, part)
		}
		y += s.rows + 1
	}
}
