// Package layers is the page of a model's layers: what each keeps for the
// backward pass, what it weighs and how long it takes, as a tree that folds, as
// it was at the cursor.
package layers

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	asking "github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
)

// Page is the layers page.
type Page struct {
	page.Body
	asked    *asking.One[question, *answer]
	data     *answer                 // the newest answer that has layers, nil before the first
	table    page.Table[row, string] // of the visible layers; names stay when another step is shown
	kept     []bool                  // the rows that pass the filter, nil without one
	opened   map[string]bool         // rows that the user opened or closed
	autoOpen []bool                  // other rows that are open by default
	autoRows int                     // the number of screen rows for which autoOpen was chosen
	all      bool                    // opens every row that the user did not fold
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Layers"), opened: make(map[string]bool), asked: asking.New(s.Gate, ask)}
	p.table = page.Table[row, string]{
		Columns: p.columns(), Noun: "layer", SearchHint: "part of a name or a class", FilterHint: "part of a name or a class",
		Body: &p.Body, Key: func(r row) string { return r.Name },
		Open: p.toggle, Arranged: p.lay, Seek: p.seek,
	}
	p.bind()
	return p
}

// step returns the number of the step whose layers to show, 0 for none.
func (p *Page) step() int64 {
	if s := p.Scene.StepAt(p.Scene.Cursor()); s != nil {
		return s.Number
	}
	return 0
}

// Rebase drops the table, which holds steps. The selection is identified by name,
// so it stays.
func (p *Page) Rebase(int) {
	p.data = nil
	p.table.Forget()
}

// Refresh asks for the layers at the cursor.
func (p *Page) Refresh(w, h int) tea.Cmd {
	var cmd tea.Cmd
	if step := p.step(); step > 0 && (step != p.asked.Answered().step || !p.asked.Fresh()) {
		cmd = p.asked.Ask(question{p.Scene.Edition(), step})
	}
	if t, ok := p.asked.Answer(); ok && t.Step != nil && (t != p.data || p.autoRows != h-frameRows) {
		p.data = t
		p.chooseOpen(h - frameRows)
		p.lay()
	}
	p.table.Place(tableRect(w, h))
	return cmd
}

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	if p.data == nil {
		return nil
	}
	return p.Body.Update(msg)
}

// turnAll opens all rows, or only those that are open at first.
func (p *Page) turnAll() {
	p.all, p.opened = !p.all, make(map[string]bool)
	p.lay()
}

func (p *Page) toLargest() tea.Cmd {
	if p.data.largest < 0 {
		return page.Say("no layer keeps anything for the backward pass")
	}
	p.reveal(p.data.largest)
	return nil
}

// sideways closes a row or goes to the one around it, or opens it or goes to the first
// inside it.
func (p *Page) sideways(direction int) {
	if at := p.current(); direction < 0 {
		p.out(at)
	} else {
		p.into(at)
	}
}

// toggle opens or closes the selected row.
func (p *Page) toggle() tea.Cmd {
	if at := p.current(); at >= 0 {
		p.fold(at, !p.open(at))
	}
	return nil
}

// out closes a row, or goes to the one around it.
func (p *Page) out(at int) {
	switch {
	case at < 0:
	case p.open(at):
		p.fold(at, false)
	case p.data.Rows[at].Parent >= 0:
		p.reveal(p.data.Rows[at].Parent)
	}
}

// into opens a row, or goes to the first inside it.
func (p *Page) into(at int) {
	switch {
	case at < 0 || len(p.data.Rows[at].Children) == 0:
	case p.open(at):
		p.table.Next()
	default:
		p.fold(at, true)
	}
}

func (p *Page) copy() tea.Cmd {
	at := p.current()
	if at < 0 {
		return nil
	}
	r := &p.data.Rows[at]
	parts := []string{nameOf(r)}
	for _, col := range p.table.Columns {
		if col.Natural || col.Text == nil {
			continue
		}
		if text := col.Text(row{r, at}); text != "" && text != none {
			parts = append(parts, col.Head+" "+text)
		}
	}
	return page.Copied(strings.Join(parts, ", "), "the layer")
}
