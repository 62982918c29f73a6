package page

import "github.com/memtop/memtop/tui/screen"

// Draw draws the heads and below them the rows that are in view.
func (t *Table[R, K]) Draw(c screen.Canvas) {
	columns := place(t.Columns, c.Width()-1)
	for i := range columns {
		t.drawHead(c, &columns[i])
	}
	from, to := t.Visible()
	for i := from; i < to && i-from < c.Height()-1; i++ {
		y := 1 + i - from
		t.drawRow(c, y, t.At(i), columns)
		switch {
		case i != t.Cursor:
		case t.Unfocused:
			c.Set(0, y, '▸', screen.Dim)
		default:
			selectRow(c, y, columns)
		}
	}
	t.Scrollbar(c, c.Width()-1, 1)
}

// Empty draws, in the middle, that there are no rows or that none match.
func (t *Table[R, K]) Empty(c screen.Canvas, why string) {
	if t.Filter != "" {
		why = "no " + t.Noun + " matches the filter"
	}
	c.Middle(0, c.Height()/2, c.Width(), why, screen.Dim)
}

// drawHead draws a head, and marks the column by which rows are sorted. A head
// may reach into the gap beside it.
func (t *Table[R, K]) drawHead(c screen.Canvas, col *placed[R]) {
	head, more := col.Head, max(col.Gap, 1)-1
	switch {
	case !col.sorts() || col.order() != t.Shown.By || col.Natural && !t.Shown.Inverse:
	case t.Shown.Inverse:
		head += "▲"
	default:
		head += "▼"
	}
	if col.Left {
		c.Fit(col.x, 0, col.w+more, head, screen.Dim)
	} else {
		c.Right(col.x-more, 0, col.w+more, head, screen.Dim)
	}
}

func (t *Table[R, K]) drawRow(c screen.Canvas, y int, r R, columns []placed[R]) {
	if t.Whole != nil && t.Whole(c, y, r) {
		return
	}
	for i := range columns {
		col := &columns[i]
		if col.Over != nil && col.Over(r) != "" {
			c.Fit(col.x, y, c.Width()-2-col.x, col.Over(r), screen.Dim)
			return
		}
		if col.Draw != nil {
			col.Draw(c.Sub(screen.Rect{X: col.x, Y: y, W: col.w, H: 1}), r)
			continue
		}
		style := screen.Plain
		switch {
		case col.Style != nil:
			style = col.Style(r)
		case t.Style != nil:
			style = t.Style(r)
		}
		if col.Left {
			c.Fit(col.x, y, col.w, col.Text(r), style)
		} else {
			c.Right(col.x, y, col.w, col.Text(r), style)
		}
	}
}

// DrawTotal draws a line with a title and the totals of the columns.
func (t *Table[R, K]) DrawTotal(c screen.Canvas, y int, title string) {
	for x := range c.Width() {
		c.Set(x, y, '─', screen.Dim)
	}
	c.Text(1, y, " "+title+" ", screen.Strong)
	for _, col := range place(t.Columns, c.Width()-1) {
		if col.Total != nil {
			c.Right(col.x-1, y, col.w+2, " "+col.Total()+" ", screen.Strong)
		}
	}
}

// selectRow marks the row under the cursor. It leaves out a picture that must
// stay readable.
func selectRow[R any](c screen.Canvas, y int, columns []placed[R]) {
	still := false
	for i := range columns {
		still = still || columns[i].Still
	}
	if !still {
		c.Select(y)
		return
	}
	c.Set(0, y, '▸', screen.Title)
	for i := range columns {
		if col := &columns[i]; !col.Still {
			c.Highlight(col.x, y, col.w)
		}
	}
}
