package stacks

import (
	"cmp"
	"path/filepath"

	"memtop/snapshots/trace"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// versusDetail is how many rows say what is selected: a cause takes a few.
const versusDetail = 5

func versusRect(w, h int) screen.Rect {
	return screen.Rect{Y: bodyTop, W: w, H: h - bodyTop - versusDetail}
}

func versusColumns() []page.Column[*versusRow] {
	bytes := func(head string, side int) page.Column[*versusRow] {
		return page.Column[*versusRow]{
			Head: head, Width: page.Cells(screen.BytesWidth), Text: func(r *versusRow) string { return screen.Bytes(r.Bytes[side]) },
			Value: func(r *versusRow) int64 { return r.Bytes[side] },
		}
	}
	dim := func(*versusRow) screen.Style { return screen.Dim }
	return []page.Column[*versusRow]{
		bytes("before", 0), bytes("after", 1),
		{Head: "change", Width: page.Cells(screen.BytesWidth + 1), Gap: 2, Style: changeStyle, Text: func(r *versusRow) string { return signed(r.Delta()) }, Value: func(r *versusRow) int64 { return max(r.Delta(), -r.Delta()) }},
		{Head: "count", Width: page.From(wide, 14), Gap: 2, Style: dim, Text: countText, Value: func(r *versusRow) int64 { return int64(r.Count[1] - r.Count[0]) }},
		{Head: "what", Rest: page.All, Left: true, Searched: true, Text: func(r *versusRow) string { return r.Name }, Compare: func(a, b *versusRow) int { return cmp.Compare(a.Name, b.Name) }},
	}
}

func countText(r *versusRow) string {
	return screen.Count(r.Count[0]) + " → " + screen.Count(r.Count[1])
}

// signed writes a change with its sign.
func signed(n int64) string {
	if n > 0 {
		return "+" + screen.Bytes(n)
	}
	return screen.Bytes(n)
}

// changeStyle is that of what grew, beside its sign.
func changeStyle(r *versusRow) screen.Style {
	switch {
	case r.Delta() > 0:
		return screen.Warn
	case r.Delta() < 0:
		return screen.Fine
	default:
		return screen.Dim
	}
}

func (p *Page) drawVersus(c screen.Canvas) {
	w, h := c.Width(), c.Height()
	v := &p.versus
	c.Rule(0, p.versusTitle(), p.versusState(), true)
	body := c.Sub(versusRect(w, h))
	switch {
	case v.shown == nil:
		c.Middle(0, h/2, w, p.waitsFor(), screen.Dim)
	case p.versus.flame:
		p.drawSides(body)
		p.drawVersusFrame(c.Sub(screen.Rect{Y: h - versusDetail, W: w, H: versusDetail}))
	case v.table.Count == 0:
		v.table.Empty(body, "no difference")
	default:
		v.table.Draw(body)
		p.drawVersusRow(c.Sub(screen.Rect{Y: h - versusDetail, W: w, H: versusDetail}))
	}
}

// waitsFor says why there is no comparison yet.
func (p *Page) waitsFor() string {
	if p.scene.Rival != nil {
		if r := p.scene.Rival(); r.Why != "" {
			return r.Name + ": " + r.Why
		} else if r.Scene == nil {
			return "reading " + r.Name + " …"
		}
	}
	return "comparing …"
}

func (p *Page) versusTitle() string {
	v := &p.versus
	what := "By " + v.by.String()
	if p.versus.flame {
		what = "Flame graphs"
	}
	text := what + " " + p.moment.String()
	if v.shown != nil {
		text += ": " + signed(v.shown.bytes[1]-v.shown.bytes[0])
	}
	return text
}

func (p *Page) versusState() string {
	room := max(16, (p.width-48)/2) // of a name
	text := screen.Truncate(p.sideName(0), room) + " → " + screen.Truncate(p.sideName(1), room)
	if p.versus.table.Filter != "" {
		text = "filter “" + p.versus.table.Filter + "”"
	}
	if !p.versus.asked.Fresh() {
		text = "… " + text
	}
	return text
}

// sideName names a side in short.
func (p *Page) sideName(side int) string {
	if p.scene.Rival == nil {
		return [...]string{"peak", [...]string{atCursor: "cursor", atPeak: "peak", atEnd: "end"}[p.moment]}[side]
	}
	r := p.scene.Rival()
	if r.First == (side == 0) {
		return filepath.Base(r.Name)
	}
	return filepath.Base(r.Own)
}

// drawVersusRow says more of the selected row.
func (p *Page) drawVersusRow(c screen.Canvas) {
	v := &p.versus
	r, ok := v.table.Current()
	if !ok {
		return
	}
	right := screen.Bytes(r.Bytes[0]) + " in " + screen.Count(r.Count[0]) + " → " + screen.Bytes(r.Bytes[1]) + " in " + screen.Count(r.Count[1])
	c.Rule(0, "of "+screen.Bytes(v.shown.bytes[0])+" → "+screen.Bytes(v.shown.bytes[1]), right, false)
	if v.by == byLine && r.Frame != 0 {
		drawFrameLine(c, v.shown.Merged.Tables(), r.Frame)
		return
	}
	text := cmp.Or(r.text, r.Name)
	for y, line := range screen.Wrap(trace.Printable(text), c.Width()-2) {
		c.Text(1, 1+y, line, screen.Plain)
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

// sign stands before the name of what grew, shrank or stayed.
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

// changeRole is the colour of a box: of what grew, shrank or stayed.
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

// drawVersusFrame says more of the selected frame.
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

// drawFrameLine draws a frame in full below the detail's heading.
func drawFrameLine(c screen.Canvas, t *trace.Tables, frame trace.FrameID) {
	line := page.FrameLine(t, frame)
	c.Fit(1, 1, c.Width()-2, line.Text, screen.Strong)
	c.Text(1, 2, screen.TruncateLeft(line.Where, c.Width()-2), screen.Dim)
}
