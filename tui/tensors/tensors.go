// Package tensors is the page of the live memory of the device at the cursor: the
// places in the program that create memory, each with a verdict on whether it
// leaks, or the tensors one by one.
package tensors

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
)

// view is the kind of list.
type view uint8

const (
	sites  view = iota // by where they were created
	single             // one by one
	inside             // the tensors of one site
	views  = int(iota)
)

// Page is the page of tensors.
type Page struct {
	page.Body
	asked    *ask.One[question, *held]
	wanted   question // asked last
	listed   *ask.One[listQuestion, listing]
	shown    listQuestion // the question that rows answers
	held     *held        // the data of the rows, nil before the first answer
	bytes    int64        // of what is listed
	tables   [views]page.Table[row, selection]
	view     view
	site     siteKey // whose tensors are listed, in the view inside
	siteName string  // what it is called
	worrying bool    // shows only rows that look wrong
	now      bool    // follow the very last event, not the last step
	read     *row    // the only shown tensor; nil when lists are shown
	shape    shape
}

// siteKey identifies a site, also in a new index: by its stack, or by name when
// it has none.
type siteKey struct {
	stack trace.StackID
	name  string
}

// selection identifies the row under the cursor: a site or an allocation.
type selection struct {
	site       siteKey
	allocation trace.AllocationID
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Tensors")}
	p.asked, p.listed = ask.New(s.Gate, look), ask.New(s.Gate, list)
	for v, noun := range [views]string{sites: "creation site", single: "tensor", inside: "tensor"} {
		p.tables[v] = page.Table[row, selection]{
			Noun: noun, SearchHint: "verdict, place, name, category, shape, dtype", FilterHint: "verdict, place, name, category, shape",
			Body: &p.Body, Key: nameOf,
			Open: p.open,
		}
	}
	p.bind()
	return p
}

// Rebase drops the live allocations and the selected tensor, because allocations
// have new numbers. A site stays the same.
func (p *Page) Rebase(int) {
	for v := range p.tables {
		p.tables[v].Forget()
		p.tables[v].Columns = nil
	}
	p.tables[single].Unselect()
	p.tables[inside].Unselect()
	p.read, p.held, p.wanted, p.shown = nil, nil, question{}, listQuestion{}
}

// Back leaves the stack, then the site, then the filter, order and search, then
// the view of rows that look wrong.
func (p *Page) Back() bool {
	switch {
	case p.read != nil:
		p.read = nil
	case p.view == inside:
		p.turn(sites)
	case p.table().Back():
	case p.worrying:
		p.worrying = false
	default:
		return false
	}
	p.Detail.Offset = 0
	return true
}

// turn goes to another list.
func (p *Page) turn(to view) {
	p.table().Forget()
	p.view, p.read, p.Detail.Offset = to, nil, 0
}

func (p *Page) table() *page.Table[row, selection] { return &p.tables[p.view] }

// Refresh asks for the live memory at the cursor and lists it.
func (p *Page) Refresh(w, h int) tea.Cmd {
	cmd := p.asked.Ask(p.question())
	if held, ok := p.asked.Answer(); ok && (held.tensors != nil || p.view == sites) {
		t := p.table()
		t.Start(held.order(p.view))
		cmd = tea.Batch(cmd, p.listed.Ask(listQuestion{held, p.view, p.site, t.Order, t.Filter, p.worrying}))
	}
	if l, ok := p.listed.Answer(); ok && p.listed.Answered() != p.shown {
		p.take(p.listed.Answered(), l)
	}
	p.shape = p.newShape(w, h)
	_, table := p.shape.list.Top(1)
	p.table().Place(table)
	p.PlaceDetail(p.shape.detail, p.detailLines())
	return cmd
}

// question asks for the live memory at the cursor. At the end of a running
// program it asks for the live memory after the last step, as in the findings,
// unless the user wants the last event: in the middle of a step most of the
// memory comes and goes too fast to read.
func (p *Page) question() question {
	q := question{p.Scene.Edition(), p.Scene.Cursor(), p.view != sites}
	if step := p.Scene.LastStep; step != nil && p.Scene.AtEnd() && !p.now {
		q.at = step.End
	}
	// Later events do not change the state at an earlier event.
	if last := p.wanted; last.index.Index == q.index.Index && last.at == q.at && last.tensors == q.tensors {
		return last
	}
	p.wanted = q
	return q
}

// take shows a new list.
func (p *Page) take(q listQuestion, l listing) {
	p.shown, p.held, p.bytes = q, q.held, l.bytes
	if p.read != nil {
		p.reread()
	}
	if p.ready() {
		t := p.table()
		t.Columns = p.held.columns(p.view)
		t.Show(l.rows, q.order)
	}
}

// reread updates the only shown tensor. A freed tensor does not change.
func (p *Page) reread() {
	if r, ok := p.held.find(p.read.tensor.ID); ok {
		p.read = &r
	}
}

// ready reports whether the table's rows answer the current question.
func (p *Page) ready() bool {
	return p.held != nil && p.shown.view == p.view && (p.view != inside || p.shown.site == p.site)
}

// nameOf is the identity of a row.
func nameOf(r row) selection {
	if r.tensor != nil {
		return selection{allocation: r.tensor.ID}
	}
	return selection{site: keyOf(r.site)}
}

func keyOf(s *leak.Site) siteKey {
	if stack := s.ID.Stack(); stack != 0 {
		return siteKey{stack: stack}
	}
	return siteKey{name: s.Name}
}

// current returns the row under the cursor, false when there is none.
func (p *Page) current() (row, bool) {
	if !p.ready() {
		return row{}, false
	}
	return p.table().Current()
}
