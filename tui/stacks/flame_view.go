package stacks

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/screen"
)

func (p *Page) drawFlame(c screen.Canvas) {
	p.graph.draw(c, p.graph.boxes, func(b box) look {
		l := look{role: kindRoles[p.kindOf(b.node)][b.depth%2], bytes: b.node.Bytes}
		l.found = p.table.Search != "" && find.Text(b.node.Label, p.table.Search)
		if b.w > 2 { // else there is no room
			l.label = p.boxLabel(b.node)
		}
		return l
	})
}

func (p *Page) boxLabel(n *analysis.Node) string {
	label := n.Label
	if n.Frame != 0 {
		label = p.Scene.Index.ShortLabel(n.Frame)
	}
	if t := p.graph.trunkTo(n); t != nil {
		label = "+" + screen.Count(t.folded) + " … " + label
	}
	return label
}

// look is how a box looks.
type look struct {
	role  screen.Role
	label string
	bytes int64
	found bool // by the search
}

// draw draws the boxes that are in view.
func (g *graph) draw(c screen.Canvas, boxes []box, of func(b box) look) {
	for _, b := range boxes {
		if y := b.depth - g.offset; y >= 0 && y < c.Height() {
			of(b).draw(c.Sub(screen.Rect{X: b.x, Y: y, W: b.w, H: 1}), b.node == g.selected)
		}
	}
}

func (l look) draw(c screen.Canvas, selected bool) {
	style := screen.Style{Fg: screen.OnBand, Bg: l.role}
	if !c.Theme().Colour {
		style = screen.Plain
	}
	if l.found {
		style.Attr |= screen.Underline | screen.Bold
	}
	if selected {
		style = screen.Style{Attr: screen.Reverse | screen.Bold}
	}
	for x := range c.Width() {
		c.Set(x, 0, ' ', style)
	}
	room := c.Width() - 1
	if size := screen.Bytes(l.bytes); room > screen.Width(l.label)+len(size)+3 {
		l.label += "  " + size
	}
	if room > 1 {
		c.Fit(1, 0, room, l.label, style)
	}
	c.Set(0, 0, '▏', style)
}

// kind says whose code a frame belongs to.
type kind uint8

const (
	program kind = iota // the program's own Python
	library             // Python of a library
	native              // not Python
	unknown             // no frame at all
)

// kindRoles has two colours for each kind. Rows of the graph alternate between
// them, so that callers and callees differ.
var kindRoles = [...][2]screen.Role{
	program: {screen.Band0, screen.Band0 + 10}, library: {screen.Band0 + 3, screen.Band0 + 8},
	native: {screen.Rest, screen.Band0 + 9}, unknown: {screen.Held, screen.Held},
}

func (p *Page) kindOf(n *analysis.Node) kind {
	if n.Frame == 0 {
		return unknown
	}
	switch {
	case p.Scene.Index.Code().Own(n.Frame):
		return program
	case lines.IsPython(p.Scene.Tables().FrameFile(n.Frame)):
		return library
	default:
		return native
	}
}

// drawKinds explains the colours of the graph.
func drawKinds(c screen.Canvas, y int) {
	x := c.Width() - 26
	for k, word := range []string{"program", "library", "native"} {
		x = c.Text(x, y, word, screen.Style{Fg: kindRoles[k][0]}) + 2
	}
}
