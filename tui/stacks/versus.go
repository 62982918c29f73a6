package stacks

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis/difference"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
)

// way is the kind of rows in a comparison.
type way uint8

const (
	byCause way = iota
	byLine
	byFunction
	byFile
	byModule
	byCategory
	byPhase
	ways
)

// String names the kind of row.
func (w way) String() string {
	return [...]string{"cause", "line", "function", "file", "module", "category", "time of allocation"}[w]
}

// sides are the two sides of a comparison, before and after.
type sides struct {
	editions [2]page.Edition
	at       [2]int
}

// versusQuestion is the input for a comparison.
type versusQuestion struct {
	sides
	by        way
	innermost bool
	runtime   bool
	filter    string
	order     page.Order
}

// versusRow is a row of a comparison.
type versusRow struct {
	difference.Row
	text string // of a cause
}

// comparison is an answer.
type comparison struct {
	*difference.Difference
	bytes [2]int64
	rows  []*versusRow
	tree  *difference.Tree
}

// versus is the comparison with the other file or, if no other is open, with the
// peak of this one.
type versus struct {
	on    bool
	flame bool
	by    way
	asked *ask.One[versusQuestion, *comparison]
	shown *comparison
	table page.Table[*versusRow, string]
	graph graph // for both sides: the zoomed and the selected frame
	boxes [2][]box
}

func (p *Page) newVersus() {
	v := &p.versus
	v.table = page.Table[*versusRow, string]{
		Columns: versusColumns(), Noun: "row", SearchHint: "part of the name", FilterHint: "only matching rows",
		Body: &p.Body, Key: func(r *versusRow) string { return r.Name },
	}
	v.table.Start(page.Order{By: "change"})
	v.asked = ask.New(p.Scene.Gate, func(_ context.Context, q versusQuestion) *comparison {
		return compare(q, v.table.Columns)
	})
}

func compare(q versusQuestion, columns []page.Column[*versusRow]) *comparison {
	a, b := q.editions[0].Index, q.editions[1].Index
	merged := difference.Merge(a.Trace().Tables, b.Trace().Tables)
	d := difference.Of(merged, difference.Side{Index: a, At: q.at[0]}, difference.Side{Index: b, At: q.at[1]})
	c := &comparison{Difference: d, bytes: d.Bytes(), tree: d.Tree(q.innermost, q.runtime)}
	if q.by == byCause {
		causes := d.Causes()
		for i := range causes {
			row := causes[i].Row
			row.Name = causes[i].Name()
			c.rows = append(c.rows, &versusRow{row, d.Text(&causes[i])})
		}
	} else {
		for _, row := range rowsBy(d, q.by) {
			if row.Bytes[0] != row.Bytes[1] || row.Count[0] != row.Count[1] {
				c.rows = append(c.rows, &versusRow{Row: row})
			}
		}
	}
	c.rows = page.Arrange(c.rows, columns, q.order, q.filter)
	return c
}

func rowsBy(d *difference.Difference, by way) []difference.Row {
	switch by {
	case byCategory:
		return d.Categories()
	case byPhase:
		return d.Phases()
	default:
		return d.Lines(lines.By(by - byLine))
	}
}

// compared returns the sides, and false while the other file is not read.
func (p *Page) compared() (s sides, ok bool) {
	if p.Scene.Rival == nil {
		e := p.Scene.Edition()
		return sides{[2]page.Edition{e, e}, [2]int{p.Scene.Summary.PeakEvent, p.at()}}, true
	}
	r := p.Scene.Rival()
	if r.Scene == nil {
		return s, false
	}
	scenes := [2]*page.Scene{p.Scene, r.Scene}
	if r.First {
		scenes[0], scenes[1] = scenes[1], scenes[0]
	}
	for i, scene := range scenes {
		s.editions[i], s.at[i] = scene.Edition(), p.moment.of(scene)
	}
	return s, true
}

func (p *Page) refreshVersus(w, h int) tea.Cmd {
	v := &p.versus
	s, ok := p.compared()
	if !ok {
		v.shown = nil
		return nil
	}
	cmd := v.asked.Ask(versusQuestion{s, v.by, p.innermost, p.runtime, v.table.Filter, v.table.Order})
	c, ok := v.asked.Answer()
	if !ok {
		return cmd
	}
	if c != v.shown {
		v.shown = c
		v.table.Show(c.rows, v.asked.Answered().order)
		v.graph.show(c.tree.Root)
	}
	v.table.Place(versusRect(w, h))
	v.graph.layout(w, versusRect(w, h).H-1)
	v.place(w)
	return cmd
}

// turnVersus begins a comparison, or ends it.
func (p *Page) turnVersus() tea.Cmd {
	if p.versus.on = !p.versus.on; !p.versus.on {
		return nil
	}
	return func() tea.Msg { return page.ReadRival{} }
}

func (p *Page) copyVersus() tea.Cmd {
	r, ok := p.versus.table.Current()
	switch {
	case !ok || p.versus.flame:
		return nil
	case r.text != "":
		return page.Copied(r.text, "the cause")
	default:
		return page.Copied(r.Name, "the "+p.versus.by.String())
	}
}

// versusBack zooms out, then clears the table's filter, order and search, then
// ends the comparison.
func (p *Page) versusBack() bool {
	v := &p.versus
	if p.versus.flame && v.graph.out() || v.table.Back() {
		return true
	}
	v.on = false
	return true
}
