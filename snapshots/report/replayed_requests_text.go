package report

import (
	"io"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/quantity"
)

// Text writes the answer for people, in lines of at most width cells.
func (r *Replay) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	for _, s := range r.answer.Sentences() {
		p.wrap("", s)
	}
	p.line("")
	rows := r.answer.Rows()
	name := nameWidth(p.width, rows)
	p.line("%-*s "+replayNumbers, name, "settings", "reserved", "in blocks", "overhead", "change", "")
	for i := range rows {
		replayRow(p, name, &rows[i])
	}
	p.line("")
	p.wrap("", whatif.Columns)
	return p.w.Flush()
}

// replayNumbers is the format of a row after the settings; replayCells is its
// width.
const (
	replayNumbers = "%10s %10s %8s %11s  %s"
	replayCells   = 1 + 10 + 1 + 10 + 1 + 8 + 1 + 11 + 2 + 12
)

// nameWidth returns the width of the settings' column. Longer settings get a line
// of their own.
func nameWidth(width int, rows []whatif.Row) int {
	longest := 0
	for i := range rows {
		longest = max(longest, cells(rows[i].Name))
	}
	return min(longest, max(width-replayCells, 24))
}

func replayRow(p *page, name int, r *whatif.Row) {
	lead := r.Name
	if cells(lead) > name {
		p.wrap("", lead)
		lead = ""
	}
	p.line("%s "+replayNumbers, lead+strings.Repeat(" ", name-cells(lead)),
		quantity.Bytes(r.PeakReserved), r.Allocated(), r.Overhead(), r.Change(), r.Outcome)
	if r.Note != "" {
		p.wrap("  ", r.Note)
	}
}
