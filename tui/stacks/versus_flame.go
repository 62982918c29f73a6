package stacks

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/screen"
)

// place lays out the boxes of both sides, each on half the width and to the same
// scale.
func (v *versus) place(w int) {
	half := (w - 1) / 2
	for side := range v.boxes {
		v.boxes[side] = v.boxes[side][:0]
		zoomed := v.shown.tree.Of[v.graph.zoomed]
		if zoomed == nil {
			continue
		}
		most := max(zoomed.Bytes[0], zoomed.Bytes[1])
		v.placeSide(side, v.graph.zoomed, 0, cells(half, zoomed.Bytes[side], most), 0)
	}
}

func cells(w int, part, whole int64) int {
	if whole == 0 {
		return 0
	}
	return int(float64(w)*float64(part)/float64(whole) + 0.5)
}

func (v *versus) placeSide(side int, n *analysis.Node, x, w, depth int) {
	if w <= 0 {
		return
	}
	v.boxes[side] = append(v.boxes[side], box{n, x, w, depth})
	whole, before := v.shown.tree.Of[n].Bytes[side], int64(0)
	for _, child := range v.graph.below(n) {
		from := x + cells(w, before, whole)
		before += v.shown.tree.Of[child].Bytes[side]
		v.placeSide(side, child, from, x+cells(w, before, whole)-from, depth+1)
	}
}

// clickVersus selects the box at a cell of either side; a click on the selected one
// zooms into it.
func (p *Page) clickVersus(msg tea.MouseClickMsg) {
	v := &p.versus
	for side, boxes := range v.boxes {
		x := msg.X - side*(p.width/2+1)
		for _, b := range boxes {
			if b.depth == msg.Y-bodyTop-1+v.graph.offset && x >= b.x && x < b.x+b.w {
				if b.node == v.graph.selected {
					v.graph.zoom(b.node)
				}
				v.graph.selected = b.node
				return
			}
		}
	}
}

// drawSides draws the flame graphs of both sides, which have one selection.
func (p *Page) drawSides(c screen.Canvas) {
	w := c.Width()
	for side, boxes := range p.versus.boxes {
		half := c.Sub(screen.Rect{X: side * (w/2 + 1), W: (w - 1) / 2, H: c.Height()})
		half.Fit(0, 0, half.Width(), [...]string{"before", "after"}[side]+"  "+p.sideName(side), screen.Strong)
		rows := half.Sub(screen.Rect{Y: 1, W: half.Width(), H: half.Height() - 1})
		for _, b := range boxes {
			if y := b.depth - p.versus.graph.offset; y >= 0 && y < rows.Height() {
				p.drawSideBox(rows, b, y, side)
			}
		}
	}
	for y := range c.Height() {
		c.Set((w-1)/2, y, '│', screen.Dim)
	}
}

func (p *Page) drawSideBox(c screen.Canvas, b box, y, side int) {
	v := &p.versus
	row := v.shown.tree.Of[b.node]
	style := screen.Style{Fg: screen.OnBand, Bg: changeRole(row.Delta())}
	if !c.Theme().Colour {
		style = screen.Plain
	}
	if b.node == v.graph.selected {
		style = screen.Style{Attr: screen.Reverse | screen.Bold}
	}
	for x := b.x; x < b.x+b.w; x++ {
		c.Set(x, y, ' ', style)
	}
	label := sign(row.Delta()) + b.node.Label
	if size := screen.Bytes(row.Bytes[side]); b.w-1 > screen.Width(label)+len(size)+3 {
		label += "  " + size
	}
	if b.w > 2 {
		c.Fit(b.x+1, y, b.w-1, label, style)
	}
	c.Set(b.x, y, '▏', style)
}

// sign is the sign before a name: grew, shrank or stayed.
func sign(delta int64) string {
	switch {
	case delta > 0:
		return "+ "
	case delta < 0:
		return "- "
	default:
		return "= "
	}
}

// changeRole is the colour of a box that grew, shrank or stayed.
func changeRole(delta int64) screen.Role {
	switch {
	case delta > 0:
		return screen.Warning
	case delta < 0:
		return screen.Good
	default:
		return screen.Rest
	}
}

// drawVersusFrame describes the selected frame.
func (p *Page) drawVersusFrame(c screen.Canvas) {
	v := &p.versus
	n := v.graph.selected
	row := v.shown.tree.Of[n]
	if row == nil {
		return
	}
	c.Rule(0, "Frame", screen.Bytes(row.Bytes[0])+" in "+screen.Count(row.Count[0])+" → "+screen.Bytes(row.Bytes[1])+" in "+screen.Count(row.Count[1])+", "+signed(row.Delta()), false)
	if n.Frame == 0 {
		c.Fit(1, 1, c.Width()-2, n.Label, screen.Strong)
	} else {
		drawFrameLine(c, v.shown.Merged.Tables(), n.Frame)
	}
	c.Fit(1, 3, c.Width()-2, "Functions of the program, and what they called. Both sides are to one scale.", screen.Dim)
}
