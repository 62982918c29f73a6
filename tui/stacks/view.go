package stacks

import (
	"memtop/snapshots/analysis"
	"memtop/tui/find"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// The rows above and below the tree and the graph.
const (
	treeTop    = 2
	flameTop   = 1
	detailRows = 3
)

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.scene.Theme, w, h)
	c.Rule(0, p.title(), p.state(), true)
	if p.tree == nil {
		c.Middle(0, h/2, w, "adding up the stacks …", screen.Dim)
		return c.String()
	}
	if p.tree.Count == 0 {
		c.Middle(0, h/2, w, p.nothing(), screen.Dim)
		return c.String()
	}
	body := c.Sub(screen.Rect{Y: 1, W: w, H: h - 1 - detailRows})
	if p.flame {
		p.drawFlame(body)
	} else {
		p.drawTree(body)
	}
	p.drawDetail(c.Sub(screen.Rect{Y: h - detailRows, W: w, H: detailRows}))
	return c.String()
}

func (p *Page) nothing() string {
	if p.filter != "" {
		return "no stack has a frame that matches “" + p.filter + "”"
	}
	return "nothing is held at this moment"
}

func (p *Page) title() string {
	what := "Stacks"
	if p.flame {
		what = "Flame graph"
	}
	when := [...]string{atCursor: "at the cursor", atPeak: "at the peak", atEnd: "live at the end"}[p.moment]
	text := what + " " + when
	if p.tree != nil {
		text += ": " + screen.Bytes(p.tree.Bytes) + " in " + screen.Count(p.tree.Count)
	}
	return text
}

// state says how the tree differs from the plain one.
func (p *Page) state() string {
	text := "outermost first"
	if p.innermost {
		text = "innermost first"
	}
	if p.runtime {
		text += " · all frames"
	}
	if p.filter != "" {
		text += " · filter “" + p.filter + "”"
	}
	if !p.asked.Fresh() {
		text = "… " + text
	}
	return text
}

func (p *Page) drawTree(c screen.Canvas) {
	wide := isWide(c.Width())
	p.drawHeads(c, wide)
	from, to := p.list.Visible()
	for i := from; i < to && i-from < c.Height()-1; i++ {
		y := 1 + i - from
		p.drawRow(c, y, &p.rows[i], wide)
		if i == p.list.Cursor {
			c.Select(y)
		}
	}
	list := p.list
	list.Scrollbar(c, c.Width()-1, 1)
}

func isWide(w int) bool { return w >= 100 }

// columnsEnd is where the numbers end and the frames begin.
func columnsEnd(wide bool) int {
	if wide {
		return 1 + screen.BytesWidth + 8 + 12 + 12
	}
	return 1 + screen.BytesWidth + 8 + 9
}

func (p *Page) drawHeads(c screen.Canvas, wide bool) {
	c.Right(1, 0, screen.BytesWidth, p.head("bytes", byBytes), screen.Dim)
	c.Right(12, 0, 7, "share", screen.Dim)
	x := 19
	if wide {
		c.Right(x, 0, 12, p.head("self", bySelf), screen.Dim)
		x += 12
	}
	c.Right(x, 0, columnsEnd(wide)-x-1, p.head("count", byCount), screen.Dim)
	c.Text(columnsEnd(wide)+1, 0, p.head("frame", byName), screen.Dim)
}

// clickHead sorts by the column at x; once more inverts the order.
func (p *Page) clickHead(x int) {
	by := byName
	switch {
	case x < 19:
		by = byBytes
	case x < 31 && p.wide:
		by = bySelf
	case x < columnsEnd(p.wide):
		by = byCount
	}
	p.order = order{by, p.order.column == by && !p.order.inverse}
	p.flatten()
}

// head marks the column that the tree is sorted by.
func (p *Page) head(name string, c column) string {
	if p.order.column != c {
		return name
	}
	if p.order.inverse {
		return name + "▲"
	}
	return name + "▼"
}

func (p *Page) drawRow(c screen.Canvas, y int, r *row, wide bool) {
	n, style := r.node, screen.Plain
	if r.parent >= 0 && p.rows[r.parent].node.Bytes == n.Bytes {
		style = screen.Dim // the same as its caller's
	}
	c.Right(1, y, screen.BytesWidth, screen.Bytes(n.Bytes), style)
	c.Right(12, y, 7, screen.Percent(n.Bytes, p.tree.Bytes), style)
	x := 19
	if wide {
		if n.Self > 0 {
			c.Right(x, y, 12, screen.Bytes(n.Self), screen.Dim)
		}
		x += 12
	}
	c.Right(x, y, columnsEnd(wide)-x-1, screen.Count(n.Count), screen.Dim)
	x = columnsEnd(wide) + 1 + min(2*r.depth, c.Width()/3)
	marker := '·'
	switch {
	case r.folded > 0:
		c.Fit(x, y, c.Width()-x-2, "⋮ "+screen.Count(r.folded)+" frames of libraries and runtimes", screen.Dim)
		return
	case r.open:
		marker = '▾'
	case len(n.Children) > 0:
		marker = '▸'
	}
	c.Set(x, y, marker, screen.Style{Fg: screen.Accent})
	p.drawLabel(c, x+2, y, c.Width()-x-4, n)
}

func (p *Page) drawLabel(c screen.Canvas, x, y, w int, n *analysis.Node) {
	style := screen.Plain
	if p.search != "" && find.Text(n.Label, p.search) {
		style = screen.Style{Fg: screen.Accent, Attr: screen.Bold | screen.Underline}
	}
	if n.Frame == 0 {
		c.Fit(x, y, w, n.Label, style)
		return
	}
	line := page.FrameLine(p.scene.Tables(), n.Frame)
	line.Style = style
	line.DrawAt(c, x, y, w)
}

// drawDetail draws the selected frame in full.
func (p *Page) drawDetail(c screen.Canvas) {
	n := p.currentNode()
	if n == nil {
		return
	}
	right := screen.Bytes(n.Bytes) + " · " + screen.Percent(n.Bytes, p.tree.Bytes) + " · " + screen.Plural(n.Count, "allocation")
	if n.Self > 0 {
		right += " · " + screen.Bytes(n.Self) + " in the frame itself"
	}
	c.Rule(0, "Frame", right, false)
	room := c.Width() - 2
	if p.flame {
		drawKinds(c, 1)
		room -= 27
	}
	if n.Frame == 0 {
		c.Fit(1, 1, room, n.Label, screen.Plain)
		return
	}
	line := page.FrameLine(p.scene.Tables(), n.Frame)
	c.Fit(1, 1, room, line.Text, screen.Strong)
	c.Text(1, 2, screen.TruncateLeft(line.Where, c.Width()-2), screen.Dim)
}
