// Package experiments is the page of the changes made while a program ran: the
// predicted and the measured effect of each. It also lists the settings that can
// be changed.
package experiments

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
)

// pane is a list that can have the keys.
type pane uint8

const (
	changes pane = iota
	options
	choices // of one option, in place of the options
)

// question is the page's question to the index.
type question struct{ index page.Edition }

// Page is the page of experiments.
type Page struct {
	page.Body
	asked   *ask.One[question, []*analysis.Experiment]
	table   page.Table[*analysis.Experiment, int64] // of the changes, the newest first
	options page.Table[trace.Option, string]
	choices page.Table[string, string] // of one option
	focus   pane
	chosen  bool   // the user chose the pane
	newest  int64  // the newest change listed so far
	key     string // the option whose choices are listed
	shape   shape
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Experiments"), focus: options}
	p.asked = ask.New(s.Gate, func(_ context.Context, q question) []*analysis.Experiment {
		all := q.index.Experiments()
		rows := make([]*analysis.Experiment, len(all))
		for i := range all {
			rows[len(all)-1-i] = &all[i]
		}
		return rows
	})
	p.table = page.Table[*analysis.Experiment, int64]{
		Columns: columns(), Noun: "change", Body: &p.Body,
		Key: func(e *analysis.Experiment) int64 { return e.ID }, Open: p.visit, Moved: func() { p.look(changes) },
	}
	p.options = page.Table[trace.Option, string]{
		Columns: optionColumns(), Body: &p.Body, Open: p.choose, Moved: func() { p.look(options) },
	}
	p.choices = page.Table[string, string]{
		Columns: []page.Column[string]{{Rest: page.All, Left: true, Draw: p.drawChoice}}, Body: &p.Body, Open: p.use,
	}
	p.bind()
	return p
}

// Back leaves the choices.
func (p *Page) Back() bool {
	if p.focus != choices {
		return false
	}
	p.focus = options
	return true
}

// Refresh asks what the changes did.
func (p *Page) Refresh(w, h int) tea.Cmd {
	cmd := p.asked.Ask(question{p.Scene.Edition()})
	if rows, ok := p.asked.Answer(); ok {
		p.take(rows)
	}
	if p.focus == choices && p.option() == nil {
		p.focus = options
	}
	p.shape = p.newShape(w, h)
	_, table := p.shape.changes.Top(1)
	p.table.Place(table)
	p.table.Unfocused = p.focus != changes
	p.options.Place(p.shape.options)
	p.options.Unfocused = p.focus != options
	p.options.Show(p.Scene.Live().Options, page.Order{})
	p.choices.Place(p.shape.options)
	if o := p.option(); o != nil {
		p.choices.Show(entries(o), page.Order{})
	}
	p.PlaceDetail(p.shape.detail, p.detailLines())
	return cmd
}

// take shows the experiments and selects a new change: the user wants to see its
// result.
func (p *Page) take(rows []*analysis.Experiment) {
	p.table.Show(rows, p.table.Order)
	if len(rows) == 0 || rows[0].ID <= p.newest {
		return
	}
	if !p.chosen {
		p.focus = changes
	}
	p.newest = rows[0].ID
	p.table.Select(p.newest)
}

// look goes to a pane that the user chose.
func (p *Page) look(at pane) { p.focus, p.chosen, p.Detail.Offset = at, true, 0 }

// rows are the table with the keys.
func (p *Page) rows() page.Rows {
	switch p.focus {
	case options:
		return &p.options
	case choices:
		return &p.choices
	default:
		return &p.table
	}
}

// current returns the selected change, nil when there is none.
func (p *Page) current() *analysis.Experiment {
	e, _ := p.table.Current()
	return e
}

// option returns the option whose choices are listed, nil when none are.
func (p *Page) option() *trace.Option {
	if p.focus != choices {
		return nil
	}
	for i := range p.Scene.Live().Options {
		if o := &p.Scene.Live().Options[i]; o.Key == p.key {
			return o
		}
	}
	return nil
}

// other is the entry in the list of choices for a typed value.
const other = "another value …"

// entries are the choices of an option.
func entries(o *trace.Option) []string {
	list := slices.Clone(o.Choices)
	if o.Free {
		list = append(list, other)
	}
	return list
}
