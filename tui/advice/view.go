package advice

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/tui/experiments"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

func columns() []page.Column[row] {
	return []page.Column[row]{
		{Head: "change", Rest: page.All, Left: true, Text: func(r row) string { return r.Name() }},
		{Head: "peak", Width: page.Cells(11), Text: func(r row) string {
			return experiments.Signed(analysis.PeakAllocatedQuantity, float64(r.Predicted.PeakAllocated))
		}},
		{Head: "", Width: page.Cells(6), Text: func(r row) string { return proposals.ShareText(r.Predicted.PeakAllocated, r.of.peak) }},
	}
}

// styleOf dims changes that save nothing.
func styleOf(r row) screen.Style {
	if r.Saved() <= 0 {
		return screen.Dim
	}
	return screen.Plain
}

// detailRows are the rule and the lines below the table.
const detailRows = 8

// areas are the places of the table and the text about the selected row.
func areas(w, h int) (table, detail screen.Rect) {
	rest, detail := screen.Rect{W: w, H: h}.Bottom(min(detailRows, h/2))
	_, table = rest.Top(1)
	return table, detail
}

// Lacks says what a file without advice lacks.
func (p *Page) Lacks() string {
	switch {
	case p.Scene.Program == nil && p.Scene.Growing() && p.Scene.ReadOnly:
		return "Advice is asked of the program, which --read-only leaves alone"
	case p.Scene.Program == nil:
		return "Advice is asked of a running program; `memtop advise FILE` prints what the stacks of a file prove"
	}
	return ""
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	f, ok := p.asked.Answer()
	switch {
	case !ok:
		page.DrawNeeds(c, "Advice", p.waiting())
		return c.String()
	case f.err != nil:
		page.DrawNeeds(c, "Advice", "The program could not be asked: "+f.err.Error())
		return c.String()
	}
	state := ""
	if !p.asked.Fresh() {
		state = "asking the program …"
	}
	c.Rule(0, p.title(f), state, true)
	table, detail := areas(w, h)
	p.table.Draw(c.Sub(table))
	if p.table.Count == 0 {
		p.table.Empty(c.Sub(table), "The program has no setting that would make its memory less.")
	}
	below := c.Sub(detail)
	below.Rule(0, "", "", false)
	p.Detail.Draw(below, 1, p.lines())
	return c.String()
}

func (p *Page) waiting() string {
	if _, ok := p.wanted(); !ok {
		return "The next step must end first: predictions begin from what it takes."
	}
	return "Asking the program what each of its settings would do …"
}

func (p *Page) title(f *found) string {
	text := "What would make it less"
	if f.peak > 0 {
		text += " than " + screen.Bytes(f.peak)
	}
	return text
}

// lines describe the selected row, and say how many samples fit.
func (p *Page) lines() []page.Line {
	f, ok := p.asked.Answer()
	if !ok || f.err != nil {
		return nil
	}
	var lines []page.Line
	if r, ok := p.table.Current(); ok {
		lines = append(lines, page.Sentence("why", r.Why())...)
	}
	if f.Headroom != nil {
		lines = append(lines, page.Sentence("headroom", proposals.RoomText(f.Headroom))...)
	}
	if len(f.Unknown) > 0 {
		lines = append(lines, page.Sentence("not known", "the program cannot say what these do: "+strings.Join(f.Unknown, ", "))...)
	}
	return lines
}
