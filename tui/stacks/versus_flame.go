package stacks

import (
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
		at := box{w: cells(half, zoomed.Bytes[side], most)}
		v.boxes[side] = v.graph.place(v.boxes[side], v.graph.zoomed, at, func(n *analysis.Node) int64 { return v.shown.tree.Of[n].Bytes[side] })
	}
}

// drawSides draws the flame graphs of both sides, which have one selection.
func (p *Page) drawSides(c screen.Canvas) {
	w := c.Width()
	for side, boxes := range p.versus.boxes {
		half := c.Sub(screen.Rect{X: side * (w/2 + 1), W: (w - 1) / 2, H: c.Height()})
		half.Fit(0, 0, half.Width(), [...]string{"before", "after"}[side]+"  "+p.sideName(side), screen.Strong)
		rows := half.Sub(screen.Rect{Y: 1, W: half.Width(), H: half.Height() - 1})
		p.versus.graph.draw(rows, boxes, func(b box) look {
			row := p.versus.shown.tree.Of[b.node]
			return look{role: changeRole(row.Delta()), label: sign(row.Delta()) + b.node.Label, bytes: row.Bytes[side]}
		})
	}
	for y := range c.Height() {
		c.Set((w-1)/2, y, '│', screen.Dim)
	}
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
		drawFrameLine(c, v.shown.Merged.Tables(), n.Frame, c.Width()-2)
	}
	c.Fit(1, 3, c.Width()-2, "Functions of the program, and what they called. Both sides are to one scale.", screen.Dim)
}
