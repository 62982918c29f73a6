package stacks

import (
	"cmp"
	"path/filepath"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// versusDetail is how many rows describe the selection: a cause takes a few.
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

// changeStyle is the style of a change, in addition to its sign.
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
	if p.Scene.Rival != nil {
		if r := p.Scene.Rival(); r.Why != "" {
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
	before, after := apart(p.sideName(0), p.sideName(1), room)
	text := screen.Truncate(before, room) + " → " + screen.Truncate(after, room)
	if p.versus.table.Filter != "" {
		text = "filter “" + p.versus.table.Filter + "”"
	}
	if !p.versus.asked.Fresh() {
		text = "… " + text
	}
	return text
}

// apart removes the common begin of two names, if one is wider than its room:
// snapshots of one run differ at the end.
func apart(a, b string, room int) (string, string) {
	if screen.Width(a) <= room && screen.Width(b) <= room {
		return a, b
	}
	one, other := []rune(a), []rune(b)
	n := 0
	for n < min(len(one), len(other))-1 && one[n] == other[n] {
		n++
	}
	if n < 2 {
		return a, b
	}
	return "…" + string(one[n:]), "…" + string(other[n:])
}

// sideName names a side in short.
func (p *Page) sideName(side int) string {
	if p.Scene.Rival == nil {
		return [...]string{"peak", [...]string{atCursor: "cursor", atPeak: "peak", atEnd: "end"}[p.moment]}[side]
	}
	r := p.Scene.Rival()
	if r.First == (side == 0) {
		return filepath.Base(r.Name)
	}
	return filepath.Base(r.Own)
}

// drawVersusRow describes the selected row.
func (p *Page) drawVersusRow(c screen.Canvas) {
	v := &p.versus
	r, ok := v.table.Current()
	if !ok {
		return
	}
	right := screen.Bytes(r.Bytes[0]) + " in " + screen.Count(r.Count[0]) + " → " + screen.Bytes(r.Bytes[1]) + " in " + screen.Count(r.Count[1])
	c.Rule(0, "of "+screen.Bytes(v.shown.bytes[0])+" → "+screen.Bytes(v.shown.bytes[1]), right, false)
	if v.by == byLine && r.Frame != 0 {
		drawFrameLine(c, v.shown.Merged.Tables(), r.Frame, c.Width()-2)
		return
	}
	text := cmp.Or(r.text, r.Name)
	for y, line := range screen.Wrap(trace.Printable(text), c.Width()-2) {
		c.Text(1, 1+y, line, screen.Plain)
	}
}

// drawFrameLine draws a frame in full below the detail's heading, its name in so many cells.
func drawFrameLine(c screen.Canvas, t *trace.Tables, frame trace.FrameID, room int) {
	line := page.FrameLine(t, frame)
	c.Fit(1, 1, room, line.Text, screen.Strong)
	c.Text(1, 2, screen.TruncateLeft(line.Where, c.Width()-2), screen.Dim)
}
