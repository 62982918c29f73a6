// Package tensors is the page of what is alive on the device at the cursor: the
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

// view is what is listed.
type view uint8

const (
	sites  view = iota // by where they were created
	single             // one by one
	inside             // those of one site
	views  = int(iota)
)

// Page is the page of tensors.
type Page struct {
	page.Body
	asked    *ask.One[question, *held]
	wanted   question // asked last
	listed   *ask.One[listQuestion, listing]
	shown    listQuestion // what rows answers
	held     *held        // that rows are of, nil before the first
	bytes    int64        // of what is listed
	tables   [views]page.Table[row, selection]
	view     view
	site     siteKey // whose tensors are listed, in the view inside
	siteName string  // what it is called
	worrying bool    // only what looks wrong
	now      bool    // follow the very last event, not the last step
	read     *row    // all about the tensor is shown alone; nil when lists are shown
	shape    shape
}

// siteKey names a site, also after the index was made anew: by its stack,
// or by name when it has none.
type siteKey struct {
	stack trace.StackID
	name  string
}

// selection names what is under the cursor: a site or an allocation.
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

// Rebase forgets what is alive and which tensor was selected: allocations have
// other numbers now. A site is still the same.
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
// what looks wrong.
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

// Refresh asks for what is alive at the cursor and lists it.
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

// question is what is alive at the cursor. At the end of what a program did it is
// what is alive after its last step, as in the findings, unless the reader wants to
// see the very last event: in the middle of a step most of it comes and goes
// too fast to be read.
func (p *Page) question() question {
	q := question{p.Scene.Edition(), p.Scene.Cursor(), p.view != sites}
	if step := p.Scene.LastStep; step != nil && p.Scene.AtEnd() && !p.now {
		q.at = step.End
	}
	// More events change nothing of what was at an event before them.
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

// reread takes what is known by now of the tensor that is shown alone. One that
// has been freed stays as it was.
func (p *Page) reread() {
	if r, ok := p.held.find(p.read.tensor.ID); ok {
		p.read = &r
	}
}

// ready reports whether the table's rows are of the list that is wanted.
func (p *Page) ready() bool {
	return p.held != nil && p.shown.view == p.view && (p.view != inside || p.shown.site == p.site)
}

// nameOf is what a row is known by.
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
