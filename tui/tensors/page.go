// Package tensors is the page of what is alive on the device at the cursor: the
// places in the program that create memory, each with a verdict on whether it
// leaks, or the tensors one by one.
package tensors

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/ask"
	"memtop/tui/page"
)

// view is what is listed.
type view uint8

const (
	sites  view = iota // by where they were created
	single             // one by one
	inside             // those of one site
	views  = int(iota)
)

// table is one list with its order and its filter, which it keeps while
// another is shown.
type table struct {
	list   page.List
	sort   sorting
	filter string
}

// Page is the page of tensors.
type Page struct {
	scene    *page.Scene
	keys     keyMap
	asked    *ask.One[question, *held]
	wanted   question // asked last
	listed   *ask.One[listQuestion, listing]
	shown    listQuestion // what rows answers
	held     *held        // that rows are of, nil before the first
	listing               // what is listed
	tables   [views]table
	view     view
	site     siteKey          // whose tensors are listed, in the view inside
	siteName string           // what it is called
	worrying bool             // only what looks wrong
	now      bool             // follow the very last event, not the last step
	read     *analysis.Tensor // all about it is shown alone; nil when lists are shown
	search   string
	prompt   *page.Prompt
	detail   page.Reader
	all      bool // show all frames
	alone    bool
	shape    shape
	selected selection // kept when time moves
}

// siteKey tells sites apart also after the index was made anew: by their stack,
// or by name when they have none.
type siteKey struct {
	stack trace.StackID
	name  string
}

// selection is what is under the cursor: a site or an allocation.
type selection struct {
	site       siteKey
	allocation trace.AllocationID
	some       bool
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{scene: s, keys: newKeyMap(s)}
	p.asked, p.listed = ask.New(s.Gate, look), ask.New(s.Gate, list)
	p.tables[sites].sort = sorting{column: byTrend}
	p.tables[single].sort = sorting{column: byBytes}
	p.tables[inside].sort = sorting{column: byBytes}
	return p
}

// Prompting returns the open prompt.
func (p *Page) Prompting() *page.Prompt { return p.prompt }

// EndPrompt closes the prompt.
func (p *Page) EndPrompt() { p.prompt = nil }

// Maximise shows the list alone, or with the detail again.
func (p *Page) Maximise() { p.alone = !p.alone }

// Rebase forgets what is alive and which tensor was selected: allocations have
// other numbers now. A site is still the same.
func (p *Page) Rebase(int) {
	if p.selected.site == (siteKey{}) {
		p.selected = selection{}
	}
	p.read, p.held, p.wanted, p.shown, p.listing = nil, nil, question{}, listQuestion{}, listing{}
}

// Back leaves the stack, then the site, then the filters.
func (p *Page) Back() bool {
	switch {
	case p.read != nil:
		p.read = nil
	case p.view == inside:
		p.turn(sites)
	case p.table().filter != "":
		p.table().filter = ""
	case p.worrying:
		p.worrying = false
	default:
		return false
	}
	p.detail.Offset = 0
	return true
}

// turn goes to another list.
func (p *Page) turn(to view) {
	p.view, p.read, p.detail.Offset = to, nil, 0
	p.selected = selection{}
}

func (p *Page) table() *table { return &p.tables[p.view] }

// Refresh asks for what is alive at the cursor and lists it.
func (p *Page) Refresh(w, h int) tea.Cmd {
	cmd := p.asked.Ask(p.question())
	if held, ok := p.asked.Answer(); ok && (held.tensors != nil || p.view == sites) {
		t := p.table()
		cmd = tea.Batch(cmd, p.listed.Ask(listQuestion{held, p.view, p.site, t.sort, t.filter, p.worrying}))
	}
	if l, ok := p.listed.Answer(); ok && p.listed.Answered() != p.shown {
		p.take(p.listed.Answered(), l)
	}
	p.shape = p.newShape(w, h)
	p.table().list.Resize(p.count(), p.shape.list.H-2)
	p.detail.Resize(len(p.detailLines()), p.shape.detail.H-1)
	return cmd
}

// question is what is alive at the cursor. Where that goes along with a running
// program it is what is alive after its last step, unless the reader wants to
// see the very last event: in the middle of a step most of it comes and goes
// faster than anybody can read.
func (p *Page) question() question {
	q := question{p.scene.Edition(), p.scene.Cursor(), p.view != sites}
	if p.scene.Following && !p.now {
		q.at = p.stepEnd()
	}
	// More events change nothing of what was at an event before them.
	if last := p.wanted; last.index.Index == q.index.Index && last.at == q.at && last.tensors == q.tensors {
		return last
	}
	p.wanted = q
	return q
}

// stepEnd returns the last event of the last whole step, or else of all.
func (p *Page) stepEnd() int {
	for k := len(p.scene.Steps) - 1; k >= 0; k-- {
		if end := p.scene.StepEnd(k); end >= 0 {
			return end
		}
	}
	return p.scene.Cursor()
}

// take shows a new list and keeps what was selected under the cursor.
func (p *Page) take(q listQuestion, l listing) {
	p.shown, p.held, p.listing = q, q.held, l
	if p.read != nil {
		p.reread()
	}
	if !p.ready() {
		return
	}
	list := &p.table().list
	list.Resize(len(p.rows), max(list.Height, 1))
	if !p.selected.some {
		p.moved()
		return
	}
	for row, i := range p.rows {
		if p.selectionOf(i) == p.selected {
			list.Center(row)
			return
		}
	}
	p.moved()
}

// reread takes what is known by now of the tensor that is shown alone. One that
// has been freed stays as it was.
func (p *Page) reread() {
	same := func(t analysis.Tensor) bool { return t.ID == p.read.ID }
	if i := slices.IndexFunc(p.held.tensors, same); i >= 0 {
		read := p.held.tensors[i]
		p.read = &read
	}
}

// count is how many rows there are: none while another list is still shown.
func (p *Page) count() int {
	if !p.ready() {
		return p.table().list.Count
	}
	return len(p.rows)
}

// ready reports whether rows are of the list that is wanted.
func (p *Page) ready() bool {
	return p.held != nil && p.shown.view == p.view && (p.view != inside || p.shown.site == p.site)
}

// selectionOf returns what stands in row i of what is held.
func (p *Page) selectionOf(i int32) selection {
	if p.shown.view == sites {
		return selection{site: keyOf(&p.held.sites[i]), some: true}
	}
	return selection{allocation: p.held.tensors[i].ID, some: true}
}

func keyOf(s *analysis.Site) siteKey {
	if s.Stack != 0 {
		return siteKey{stack: s.Stack}
	}
	return siteKey{name: s.Name}
}

// row returns what is under the cursor in held's order, false when nothing is.
func (p *Page) row() (int32, bool) {
	if at := p.table().list.Cursor; p.ready() && at < len(p.rows) {
		return p.rows[at], true
	}
	return 0, false
}

// currentSite returns the selected site, or the one whose tensors are listed.
func (p *Page) currentSite() *analysis.Site {
	i, ok := p.row()
	switch {
	case !ok:
		return nil
	case p.view == sites:
		return &p.held.sites[i]
	default:
		return p.held.siteOf(&p.held.tensors[i])
	}
}

// currentTensor returns the selected tensor, nil where sites are listed.
func (p *Page) currentTensor() *analysis.Tensor {
	if i, ok := p.row(); ok && p.view != sites {
		return &p.held.tensors[i]
	}
	return nil
}
