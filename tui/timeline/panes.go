package timeline

import (
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

func (p *Page) drawLeft(c screen.Canvas) {
	if c.Height() == 0 {
		return
	}
	d := &p.drill
	focused := !d.onRight
	c.Rule(0, d.leftTitle(), "", focused)
	drawRows(c, d.left, func(y, i int) {
		p.drawGroup(c, y, &d.groups[i])
		if i == d.left.Cursor {
			selectGroup(c, y, focused)
		}
	})
}

// drawRows draws the rows of a list that are in view, below its title.
func drawRows(c screen.Canvas, list page.List, draw func(y, i int)) {
	from, to := list.Visible()
	for i := from; i < to && i-from < c.Height()-1; i++ {
		draw(1+i-from, i)
	}
	list.Scrollbar(c, c.Width()-1, 1)
}

// selectGroup marks a row, and leaves the band's swatch readable.
func selectGroup(c screen.Canvas, y int, focused bool) {
	c.Set(0, y, '▸', screen.Title)
	if focused {
		c.Highlight(4, y, c.Width()-5)
	}
}

func (d *drill) leftTitle() string {
	switch d.step {
	case inBand:
		return d.bandName + " at the cursor, by stack"
	case inStack:
		return d.names.Stack(d.scene.Index, d.stack.id, d.stack.freed)
	default:
		return "At the cursor"
	}
}

func (p *Page) drawGroup(c screen.Canvas, y int, g *group) {
	if !g.all {
		swatch(c, 1, y, g)
	}
	style := screen.Plain
	if g.bytes == 0 {
		style = screen.Dim
	}
	whole := int64(0)
	if len(p.drill.groups) > 0 {
		whole = p.drill.groups[0].bytes
	}
	c.Right(4, y, screen.BytesWidth, screen.Bytes(g.bytes), style)
	c.Right(5+screen.BytesWidth, y, 6, screen.Percent(g.bytes, whole), screen.Dim)
	x := 13 + screen.BytesWidth
	if g.count > 0 {
		c.Right(12+screen.BytesWidth, y, 7, "×"+screen.Count(g.count), screen.Dim)
	}
	x += 8
	c.Fit(x, y, c.Width()-x-2, g.name, style)
}

// swatch shows the look of a band on the chart.
func swatch(c screen.Canvas, x, y int, g *group) {
	if c.Theme().Letters() {
		c.Set(x, y, g.letter, screen.Style{Fg: g.role})
		return
	}
	c.Set(x, y, '█', screen.Style{Fg: g.role})
	if g.letter != ' ' {
		c.Set(x+1, y, g.letter, screen.Style{Fg: screen.OnBand, Bg: g.role, Attr: screen.Bold})
	}
}

func rowCopy(g *group) string {
	return screen.Bytes(g.bytes) + " in " + screen.Count(g.count) + ": " + g.name
}

func (p *Page) drawRight(c screen.Canvas) {
	d := &p.drill
	if d.step == inStack {
		c.Rule(0, "Allocation", "", d.onRight)
		reader := d.detail
		reader.Draw(c, 1, d.detailLines())
		return
	}
	c.Rule(0, "Alive at the cursor: "+screen.Count(len(d.alive)), d.order(), d.onRight)
	drawRows(c, d.right, func(y, i int) {
		p.drawItem(c, y, d.item(i))
		if i == d.right.Cursor && d.onRight {
			c.Select(y)
		}
	})
	if len(d.alive) == 0 {
		c.Text(2, 1, "nothing", screen.Dim)
	}
}

func (d *drill) order() string {
	text := "largest first"
	switch {
	case d.byAge && d.inverse:
		text = "newest first"
	case d.byAge:
		text = "oldest first"
	case d.inverse:
		text = "smallest first"
	}
	if d.filter != "" {
		text = "filter “" + d.filter + "” · " + text
	}
	return text
}

func (p *Page) drawItem(c screen.Canvas, y int, it *item) {
	c.Right(1, y, screen.BytesWidth, screen.Bytes(it.Size), screen.Plain)
	word := it.category.String()
	if it.held {
		word = "held"
	}
	c.Fit(2+screen.BytesWidth, y, 10, word, screen.Style{Fg: itemRole(it)})
	since := "before"
	if it.Open >= 0 {
		since = "#" + screen.Count(it.Open)
	}
	c.Right(13+screen.BytesWidth, y, 10, since, screen.Dim)
	x := 25 + screen.BytesWidth
	c.Fit(x, y, c.Width()-x-2, p.drill.names.Allocation(p.Scene.Index, it.Allocation), screen.Plain)
}
