package stacks

import (
	"github.com/memtop/memtop/tui/screen"
)

// The rows above and below the tree and the graph.
const (
	bodyTop    = 1
	detailRows = 3
)

// bodyRect is the place of the tree, with its heads, or of the graph.
func bodyRect(w, h int) screen.Rect {
	return screen.Rect{Y: bodyTop, W: w, H: h - bodyTop - detailRows}
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	if p.versus.on {
		p.drawVersus(c)
		return c.String()
	}
	c.Rule(0, p.title(), p.state(), true)
	if p.flat.on {
		p.drawLines(c)
		return c.String()
	}
	if p.tree == nil {
		c.Middle(0, h/2, w, "adding up the stacks …", screen.Dim)
		return c.String()
	}
	if p.tree.Count == 0 {
		c.Middle(0, h/2, w, p.nothing(), screen.Dim)
		return c.String()
	}
	body := c.Sub(bodyRect(w, h))
	if p.flame {
		p.drawFlame(body)
	} else {
		p.table.Draw(body)
	}
	p.drawDetail(c.Sub(screen.Rect{Y: h - detailRows, W: w, H: detailRows}))
	return c.String()
}

func (p *Page) nothing() string {
	if p.table.Filter != "" {
		return "no stack has a frame that matches “" + p.table.Filter + "”"
	}
	return "nothing is held at this moment"
}

func (p *Page) title() string {
	what := "Stacks"
	switch {
	case p.flat.on:
		what = "By " + p.flat.by.String()
	case p.flame:
		what = "Flame graph"
	}
	text := what + " " + p.moment.String()
	switch {
	case p.flat.on && p.flat.shown != nil:
		text += ": " + screen.Bytes(p.flat.shown.Bytes) + " in " + screen.Count(p.flat.shown.Count)
	case !p.flat.on && p.tree != nil:
		text += ": " + screen.Bytes(p.tree.Bytes) + " in " + screen.Count(p.tree.Count)
	}
	return text
}

// state says how the tree differs from the plain one.
func (p *Page) state() string {
	if p.flat.on {
		return p.flat.state(p.runtime)
	}
	text := "outermost first"
	if p.innermost {
		text = "innermost first"
	}
	if p.runtime {
		text += " · all frames"
	}
	if p.through.name != "" {
		text = "through " + p.through.name
	}
	return withState(text, p.table.Filter, p.asked.Fresh())
}

// withState adds to a text the table's filter, and that an answer is pending.
func withState(text, filter string, fresh bool) string {
	if filter != "" {
		text += " · filter “" + filter + "”"
	}
	if !fresh {
		text = "… " + text
	}
	return text
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
	drawFrameLine(c, p.Scene.Tables(), n.Frame, room)
}
