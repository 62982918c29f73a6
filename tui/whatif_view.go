package tui

import (
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// view draws the panel.
func (p *whatIf) view(t *screen.Theme, w, h int) string {
	c := screen.New(t, w, h)
	c.Rule(0, "What if: other allocator settings", "w or esc closes", true)
	a, ok := p.answer()
	switch {
	case !ok:
		c.Middle(0, h/3, w, "replaying "+screen.Plural(p.asked.trace.Device(p.asked.device).Events.Len(), "event")+
			" under the recorded settings, and under others …", screen.Plain)
	case a.err != nil:
		p.text(c, 2, a.err.Error(), screen.Warn)
	default:
		p.draw(c, a.Answer)
	}
	return c.String()
}

// text writes a text from a line on and returns the line after it.
func (p *whatIf) text(c screen.Canvas, y int, text string, style screen.Style) int {
	for _, line := range screen.Wrap(text, c.Width()-4) {
		c.Text(2, y, line, style)
		y++
	}
	return y
}

// below is how many lines stand below the rows: the settings of the selected one, a
// note, and what the columns are.
const below = 5

func (p *whatIf) draw(c screen.Canvas, a *whatif.Answer) {
	y := 2
	for i, s := range a.Sentences() {
		style := screen.Plain
		if i == 0 && a.Recorded.WhyNot != "" {
			style = screen.Warn
		}
		y = p.text(c, y, s, style)
	}
	rows := a.Rows()
	y = p.drawRows(c, y+1, rows)
	selected := &rows[min(p.list.Cursor, len(rows)-1)]
	y = p.text(c, y+1, selected.Variable(), screen.Strong)
	if selected.Note != "" {
		y = p.text(c, y, selected.Note, screen.Plain)
	}
	p.text(c, y, whatif.Columns, screen.Dim)
}

// drawRows draws heads and the rows that have room, and returns the line after them.
func (p *whatIf) drawRows(c screen.Canvas, y int, rows []whatif.Row) int {
	list := page.List{Cursor: p.list.Cursor}
	list.Resize(len(rows), max(c.Height()-y-1-below, 1))
	from, to := list.Visible()
	table := page.Table[whatif.Row, string]{Columns: whatIfColumns, Style: rowStyle, List: page.List{Cursor: list.Cursor - from}}
	table.Resize(to-from, to-from)
	table.At = func(i int) whatif.Row { return rows[from+i] }
	table.Draw(c.Sub(screen.Rect{X: 1, Y: y, W: c.Width() - 1, H: c.Height() - y}))
	c.Select(y + 1 + list.Cursor - from) // to its left end
	return y + 1 + to - from
}

// rowStyle highlights a row under whose settings the failed request fits.
func rowStyle(r whatif.Row) screen.Style {
	if r.Outcome == whatif.Fits {
		return screen.Strong
	}
	return screen.Plain
}

// whatIfColumns are the columns of the rows.
var whatIfColumns = []page.Column[whatif.Row]{
	{Head: "settings", Rest: page.All, Gap: 2, Left: true, Text: func(r whatif.Row) string { return r.Name }},
	{Head: "reserved", Width: page.Cells(10), Text: func(r whatif.Row) string { return screen.Bytes(r.PeakReserved) }},
	{Head: "in blocks", Width: page.From(88, 10), Text: func(r whatif.Row) string { return r.Allocated() }},
	{Head: "overhead", Width: page.Cells(8), Text: func(r whatif.Row) string { return r.Overhead() }},
	{Head: "change", Width: page.Cells(11), Gap: 2, Text: func(r whatif.Row) string { return r.Change() }},
	{Width: page.Cells(12), Left: true, Text: func(r whatif.Row) string { return r.Outcome }},
}
