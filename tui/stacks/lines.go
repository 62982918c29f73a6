package stacks

import (
	"cmp"
	"context"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// lineQuestion is the input for the list of lines.
type lineQuestion struct {
	index     page.Edition
	at        int
	by        lines.By
	libraries bool
	filter    string
	order     page.Order
}

// lineList is an answer: the rows that pass the filter, in order.
type lineList struct {
	*lines.Table
	rows []*lines.Row
}

// flat is the table of memory by line, function, file or module.
type flat struct {
	on    bool
	by    lines.By
	asked *ask.One[lineQuestion, *lineList]
	shown *lineList
	table page.Table[*lines.Row, string]
}

func (p *Page) newFlat() {
	f := &p.flat
	f.table = page.Table[*lines.Row, string]{
		Columns: f.columns(), Noun: "line", SearchHint: "part of file or function", FilterHint: "only matching lines",
		Body: &p.Body, Key: func(r *lines.Row) string { return r.Name },
		Open: p.openLine,
	}
	f.table.Start(page.Order{By: "self"})
	f.asked = ask.New(p.Scene.Gate, func(_ context.Context, q lineQuestion) *lineList {
		l := &lineList{Table: analysis.LinesAt(q.index.Index, q.at, q.by, q.libraries)}
		for i := range l.Rows {
			l.rows = append(l.rows, &l.Rows[i])
		}
		l.rows = page.Arrange(l.rows, p.flat.table.Columns, q.order, q.filter)
		return l
	})
}

// columns are the columns of the flat table.
func (f *flat) columns() []page.Column[*lines.Row] {
	dim := func(*lines.Row) screen.Style { return screen.Dim }
	return []page.Column[*lines.Row]{
		{Head: "self", Width: page.Cells(screen.BytesWidth), Text: func(r *lines.Row) string { return screen.Bytes(r.Self) }, Value: func(r *lines.Row) int64 { return r.Self }},
		{Head: "share", Width: page.Cells(7), Under: true, Text: func(r *lines.Row) string { return screen.Percent(r.Self, f.shown.Bytes) }},
		{Head: "with calls", Width: page.Cells(screen.BytesWidth), Style: dim, Text: func(r *lines.Row) string { return screen.Bytes(r.Total) }, Value: func(r *lines.Row) int64 { return r.Total }},
		{Head: "count", Width: page.Cells(7), Gap: 2, Style: dim, Text: func(r *lines.Row) string { return screen.Count(r.TotalCount) }, Value: func(r *lines.Row) int64 { return int64(r.TotalCount) }},
		{Head: "whose", Rest: page.All, Left: true, Searched: true, Style: lineStyle, Text: func(r *lines.Row) string { return r.Name }, Compare: func(a, b *lines.Row) int { return cmp.Compare(a.Name, b.Name) }},
	}
}

// lineStyle dims code that is not the program's own.
func lineStyle(r *lines.Row) screen.Style {
	if r.Own {
		return screen.Plain
	}
	return screen.Dim
}

// refresh asks for the lines and shows them.
func (p *Page) refreshLines(w, h int) tea.Cmd {
	f := &p.flat
	cmd := f.asked.Ask(lineQuestion{p.Scene.Edition(), p.at(), f.by, p.runtime, f.table.Filter, f.table.Order})
	list, ok := f.asked.Answer()
	if !ok {
		return cmd
	}
	if list != f.shown {
		f.shown = list
		f.table.Show(list.rows, f.asked.Answered().order)
	}
	f.table.Place(bodyRect(w, h))
	return cmd
}

// drawLines draws the flat table below the page's heading.
func (p *Page) drawLines(c screen.Canvas) {
	w, h := c.Width(), c.Height()
	switch {
	case p.flat.shown == nil:
		c.Middle(0, h/2, w, "adding up the stacks …", screen.Dim)
	case p.flat.table.Count == 0:
		p.flat.table.Empty(c.Sub(bodyRect(w, h)), "nothing is held at this moment")
	default:
		p.flat.table.Draw(c.Sub(bodyRect(w, h)))
		p.drawLine(c.Sub(screen.Rect{Y: h - detailRows, W: w, H: detailRows}))
	}
}

// state describes the list.
func (f *flat) state(libraries bool) string {
	text := "own code"
	if libraries {
		text = "libraries too"
	}
	return withState(text, f.table.Filter, f.asked.Fresh())
}

// turnLines shows the flat table. If it or a comparison is already shown,
// turnLines selects the next way to add up.
func (p *Page) turnLines() {
	if v := &p.versus; v.on {
		v.by, v.flame = (v.by+1)%ways, false
		v.table.Unselect()
		return
	}
	f := &p.flat
	if f.on {
		f.by = (f.by + 1) % lines.Ways
		f.table.Unselect()
	}
	f.on = true
}

// openLine shows the tree of the stacks that pass the selected line.
func (p *Page) openLine() tea.Cmd {
	r, ok := p.flat.table.Current()
	if !ok || r.Frame == 0 {
		return nil // there is no stack to show
	}
	q := p.flat.asked.Answered()
	p.through = through{r.Name, r.Frame, q.by, q.libraries}
	p.runtime = q.libraries
	p.flat.on, p.flame = false, false
	return nil
}

// through is the row of the flat table whose stacks are shown; without a name all
// stacks are.
type through struct {
	name      string
	frame     trace.FrameID
	by        lines.By
	libraries bool
}

// only returns those stacks, nil for all.
func (t through) only(x *analysis.Index) func(trace.StackID) bool {
	if t.name == "" {
		return nil
	}
	return x.Code().Passing(t.frame, t.by, t.libraries)
}

// titles name a row of the flat table.
var titles = [...]string{lines.Line: "Line", lines.Function: "Function", lines.File: "File", lines.Module: "Module"}

// drawLine draws the selected row in full.
func (p *Page) drawLine(c screen.Canvas) {
	r, ok := p.flat.table.Current()
	if !ok {
		return
	}
	right := screen.Percent(r.Self, p.flat.shown.Bytes) + " in " + screen.Count(r.SelfCount) + " · with calls " + screen.Percent(r.Total, p.flat.shown.Bytes) +
		" in " + screen.Count(r.TotalCount)
	c.Rule(0, titles[p.flat.shown.By], right, false)
	if r.Frame == 0 || p.flat.shown.By == lines.Module {
		c.Fit(1, 1, c.Width()-2, r.Name, screen.Strong)
		return
	}
	t := p.Scene.Tables()
	file := t.FrameFile(r.Frame)
	if p.flat.shown.By == lines.Line {
		file += ":" + strconv.Itoa(int(t.Frames[r.Frame].Line))
	}
	if p.flat.shown.By != lines.File {
		c.Fit(1, 1, c.Width()-2, t.FrameName(r.Frame), screen.Strong)
	}
	c.Text(1, 2, screen.TruncateLeft(file, c.Width()-2), screen.Dim)
}
