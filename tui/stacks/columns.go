package stacks

import (
	"cmp"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// wide is the width of a table with room for the bytes of the frame itself.
const wide = 99

// columns are the columns of the tree.
func (p *Page) columns() []page.Column[*row] {
	dim := func(*row) screen.Style { return screen.Dim }
	return []page.Column[*row]{
		{Head: "bytes", Width: page.Cells(screen.BytesWidth), Style: p.bytesStyle, Text: func(r *row) string { return screen.Bytes(r.node.Bytes) }, Value: func(r *row) int64 { return r.node.Bytes }},
		{Head: "share", Width: page.Cells(7), Under: true, Style: p.bytesStyle, Text: func(r *row) string { return screen.Percent(r.node.Bytes, p.tree.Bytes) }},
		{Head: "self", Width: page.From(wide, 11), Style: dim, Text: selfText, Value: func(r *row) int64 { return r.node.Self }},
		{Head: "count", Width: func(w int) int { return page.Below(wide, 7)(w) + page.From(wide, 10)(w) }, Gap: 2, Style: dim, Text: func(r *row) string { return screen.Count(r.node.Count) }, Value: func(r *row) int64 { return int64(r.node.Count) }},
		{Head: "frame", Rest: page.All, Left: true, Draw: p.drawFrame, Compare: func(a, b *row) int { return cmp.Compare(a.node.Label, b.node.Label) }},
	}
}

func selfText(r *row) string {
	if r.node.Self == 0 {
		return ""
	}
	return screen.Bytes(r.node.Self)
}

// bytesStyle dims bytes equal to the caller's.
func (p *Page) bytesStyle(r *row) screen.Style {
	if r.parent != nil && r.parent.node.Bytes == r.node.Bytes {
		return screen.Dim
	}
	return screen.Plain
}

// drawFrame draws a frame in the tree, and how it folds.
func (p *Page) drawFrame(c screen.Canvas, r *row) {
	n, x := r.node, min(2*r.depth, c.Width()/2)
	marker := '·'
	switch {
	case r.folded > 0:
		c.Fit(x, 0, c.Width()-x, "⋮ "+screen.Count(r.folded)+" frames of libraries and runtimes", screen.Dim)
		return
	case r.open:
		marker = '▾'
	case len(n.Children) > 0:
		marker = '▸'
	}
	c.Set(x, 0, marker, screen.Style{Fg: screen.Accent})
	p.drawLabel(c, x+2, 0, c.Width()-x-2, n)
}

func (p *Page) drawLabel(c screen.Canvas, x, y, w int, n *analysis.Node) {
	style := screen.Plain
	if p.table.Search != "" && find.Text(n.Label, p.table.Search) {
		style = screen.Style{Fg: screen.Accent, Attr: screen.Bold | screen.Underline}
	}
	if n.Frame == 0 {
		c.Fit(x, y, w, n.Label, style)
		return
	}
	line := page.FrameLine(p.Scene.Tables(), n.Frame)
	line.Style = style
	line.DrawAt(c, x, y, w)
}
