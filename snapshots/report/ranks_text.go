package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Text writes the differences between the ranks and a row for each, in lines of
// at most width cells.
func (r *Ranks) Text(w io.Writer, width int) error {
	p := newPage(w, width)
	p.line("%s", r.title())
	p.line("")
	for i := range r.found {
		findingLine(p, &r.found[i].Finding)
	}
	switch {
	case len(r.found) > 0:
	case ranks.MedianPeak(r.rows) == 0:
		p.line("  No peak of a step is known yet.")
	default:
		p.line("  The ranks are alike.")
	}
	p.line("")
	table := newRankTable(r.rows)
	p.line("%s  %s", table.line(func(c *rankColumn) string { return c.head }), table.named)
	rows := r.outliersFirst()
	shown := len(rows)
	if shown > mostRows {
		shown = fewRows
	}
	for _, row := range rows[:shown] {
		p.line("%s", table.row(row))
	}
	if more := len(rows) - shown; more > 0 {
		p.line("      and %s; --json has all", quantity.Plural(more, "more rank"))
	}
	if row := r.worst(); row != nil {
		p.line("")
		p.line("  %s says what it holds.", lookAt(row))
	}
	r.iterations(p)
	return p.w.Flush()
}

// The text has a row for each of so many ranks. Of more it has only the first, so that
// they and the findings fit on a small screen.
const (
	mostRows = 64
	fewRows  = 12
)

// outliersFirst returns the rows of ranks that a finding is about, in the order of the
// findings, and then the others.
func (r *Ranks) outliersFirst() []*ranks.Row {
	var named []int
	for i := range r.found {
		named = append(named, r.found[i].Ranks...)
	}
	place := func(r *ranks.Row) uint { return uint(slices.Index(named, r.Rank.Rank)) } // of none, -1: the last
	all := pointers(r.rows)
	slices.SortStableFunc(all, func(a, b *ranks.Row) int { return cmp.Compare(place(a), place(b)) })
	return all
}

// worst returns the rank of the first finding, nil if the user cannot look at
// any.
func (r *Ranks) worst() *ranks.Row {
	for i := range r.found {
		for j := range r.rows {
			if row := &r.rows[j]; len(r.found[i].Ranks) > 0 && row.Rank.Rank == r.found[i].Ranks[0] && row.Problem == "" {
				return row
			}
		}
	}
	return nil
}

// lookAt is the command that shows a rank.
func lookAt(r *ranks.Row) string {
	switch {
	case r.PID == 0:
		return "memtop report " + r.Name
	case r.Host != "":
		return fmt.Sprintf("memtop attach %s:%d --once", r.Host, r.PID)
	}
	return fmt.Sprintf("memtop attach %d --once", r.PID)
}

func (r *Ranks) title() string {
	title := quantity.Plural(len(r.rows), "rank")
	for i := range r.rows {
		if row := &r.rows[i]; row.World > 0 {
			of := title + " of " + strconv.Itoa(row.World)
			if row.Job != "" {
				of += ", job " + row.Job
			}
			return of
		}
	}
	return title
}

// rankColumn is a number of each rank.
type rankColumn struct {
	head  string
	width int
	text  func(*ranks.Row) string
}

// rankTable draws rows within 80 cells: columns, and at the end the rank's name.
type rankTable struct {
	columns []rankColumn
	named   string // the heading of names
	name    func(*ranks.Row) string
}

func newRankTable(rows []ranks.Row) *rankTable {
	usual := ranks.MedianPeak(rows)
	live, roomy := false, false
	for i := range rows {
		_, known := rows[i].Headroom()
		live, roomy = live || rows[i].PID != 0, roomy || known
	}
	t := &rankTable{columns: []rankColumn{
		{"RANK", 4, rankText},
		{"STEP", 7, func(r *ranks.Row) string { return strconv.FormatInt(r.Step, 10) }},
		{"ALLOCATED", 11, func(r *ranks.Row) string { return allocatedText(r.Allocated) }},
		ofPeak("PEAK", func(r *ranks.Row) string { return quantity.Bytes(r.PeakAllocated) }),
		ofPeak("ACTIVATION", func(r *ranks.Row) string { return quantity.Bytes(r.AtPeak[trace.Activation]) }),
		ofPeak("SKEW", func(r *ranks.Row) string { return signed(r.PeakAllocated - usual) }),
	}, named: "FILE", name: func(r *ranks.Row) string { return r.Name }}
	if roomy {
		t.columns = append(t.columns, rankColumn{"HEADROOM", 11, headroomText})
	}
	if live {
		t.named, t.name = "PID", func(r *ranks.Row) string { return strings.TrimSpace(strconv.Itoa(r.PID) + " " + r.Host) }
	}
	return t
}

// allocatedText writes a rank's allocated bytes; 0 means unknown, since a
// training rank has some.
func allocatedText(allocated int64) string {
	if allocated == 0 {
		return "-"
	}
	return quantity.Bytes(allocated)
}

// ofPeak is a column about a rank's peak, which may be unknown.
func ofPeak(head string, text func(*ranks.Row) string) rankColumn {
	return rankColumn{head, 11, func(r *ranks.Row) string {
		if r.PeakAllocated == 0 {
			return "-"
		}
		return text(r)
	}}
}

// row writes a rank: its numbers, or its problem.
func (t *rankTable) row(r *ranks.Row) string {
	if r.Problem != "" {
		return fmt.Sprintf("%4s  %s: %s", rankText(r), t.name(r), strings.TrimPrefix(r.Problem, t.name(r)+": "))
	}
	return t.line(func(c *rankColumn) string { return c.text(r) }) + "  " + t.name(r)
}

func (t *rankTable) line(text func(*rankColumn) string) string {
	var b strings.Builder
	for i := range t.columns {
		fmt.Fprintf(&b, "%*s", t.columns[i].width, text(&t.columns[i]))
	}
	return b.String()
}

func rankText(r *ranks.Row) string {
	if r.Rank.Rank == ranks.Unranked {
		return "?"
	}
	return strconv.Itoa(r.Rank.Rank)
}

func headroomText(r *ranks.Row) string {
	if left, known := r.Headroom(); known {
		return quantity.Bytes(left)
	}
	return "-"
}
