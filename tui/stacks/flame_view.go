package stacks

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/screen"
)

func (p *Page) drawFlame(c screen.Canvas) {
	g := &p.graph
	for _, b := range g.boxes {
		y := b.depth - g.offset
		if y < 0 || y >= c.Height() {
			continue
		}
		p.drawBox(c, b, y)
	}
}

func (p *Page) drawBox(c screen.Canvas, b box, y int) {
	style := screen.Style{Fg: screen.OnBand, Bg: kindRoles[p.kindOf(b.node)][b.depth%2]}
	selected := b.node == p.graph.selected
	if !c.Theme().Colour {
		style = screen.Plain
	}
	if p.table.Search != "" && find.Text(b.node.Label, p.table.Search) {
		style.Attr |= screen.Underline | screen.Bold
	}
	if selected {
		style = screen.Style{Attr: screen.Reverse | screen.Bold}
	}
	for x := b.x; x < b.x+b.w; x++ {
		c.Set(x, y, ' ', style)
	}
	room := b.w - 1
	edge := '▏'
	if room > 0 {
		c.Fit(b.x+1, y, room, p.boxLabel(b.node, room), style)
	}
	c.Set(b.x, y, edge, style)
}

func (p *Page) boxLabel(n *analysis.Node, room int) string {
	if room < 2 {
		return ""
	}
	label := n.Label
	if n.Frame != 0 {
		label = p.Scene.Index.ShortLabel(n.Frame)
	}
	if t := p.graph.trunkTo(n); t != nil {
		label = "+" + screen.Count(t.folded) + " … " + label
	}
	if size := screen.Bytes(n.Bytes); room > screen.Width(label)+len(size)+3 {
		label += "  " + size
	}
	return label
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
