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
	columns := whatIfColumns(c.Width())
	drawColumns(c, y+1, columns, func(column whatIfColumn) string { return column.head }, screen.Dim)
	y = p.drawRows(c, y+2, rows, columns)
	selected := &rows[min(p.list.Cursor, len(rows)-1)]
	y = p.text(c, y+1, selected.Variable(), screen.Strong)
	if selected.Note != "" {
		y = p.text(c, y, selected.Note, screen.Plain)
	}
	p.text(c, y, whatif.Columns, screen.Dim)
}

// drawRows draws the rows that have room and returns the line after them.
func (p *whatIf) drawRows(c screen.Canvas, y int, rows []whatif.Row, columns []whatIfColumn) int {
	list := page.List{Cursor: p.list.Cursor}
	list.Resize(len(rows), max(c.Height()-y-below, 1))
	for i := list.Offset; i < min(list.Offset+list.Height, len(rows)); i++ {
		drawColumns(c, y, columns, func(column whatIfColumn) string { return column.of(&rows[i]) }, rowStyle(&rows[i]))
		if i == list.Cursor {
			c.Select(y)
		}
		y++
	}
	return y
}

// rowStyle highlights a row under whose settings the failed request fits.
func rowStyle(r *whatif.Row) screen.Style {
	if r.Outcome == whatif.Fits {
		return screen.Strong
	}
	return screen.Plain
}

// whatIfColumn is one column of the rows.
type whatIfColumn struct {
	head  string
	width int // 0 for the remaining width
	of    func(*whatif.Row) string
}

// outcomeWidth is the width of the last column.
const outcomeWidth = 12

func whatIfColumns(w int) []whatIfColumn {
	all := []whatIfColumn{
		{"settings", 0, func(r *whatif.Row) string { return r.Name }},
		{"reserved", 10, func(r *whatif.Row) string { return screen.Bytes(r.PeakReserved) }},
		{"in blocks", 10, (*whatif.Row).Allocated},
		{"overhead", 8, (*whatif.Row).Overhead},
		{"change", 11, (*whatif.Row).Change},
	}
	if w < 90 {
		all = append(all[:2], all[3:]...)
	}
	return all
}

// drawColumns draws one line: the settings at the left, numbers at the right of their
// columns, and then the outcome.
func drawColumns(c screen.Canvas, y int, columns []whatIfColumn, text func(whatIfColumn) string, style screen.Style) {
	x := c.Width() - 2 - outcomeWidth
	outcome := whatIfColumn{"", outcomeWidth, func(r *whatif.Row) string { return r.Outcome }}
	c.Fit(x, y, outcomeWidth, text(outcome), style)
	x -= 2
	for i := len(columns) - 1; i > 0; i-- {
		x -= columns[i].width
		c.Right(x, y, columns[i].width, text(columns[i]), style)
		x--
	}
	c.Fit(2, y, x-3, text(columns[0]), style)
}
