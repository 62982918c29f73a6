// Package stacks is the page of memory by call stack, as a tree and as a flame
// graph, and by line, at the cursor, at the peak or at the end.
package stacks

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
)

// moment is the moment of the shown stacks.
type moment uint8

const (
	atCursor moment = iota
	atPeak
	atEnd
	moments
)

// question is the input for the tree.
type question struct {
	index     page.Edition
	at        int
	innermost bool
	runtime   bool
	filter    string
	through   through
}

// Page is the stacks page.
type Page struct {
	page.Body
	asked     *ask.One[question, *analysis.Tree]
	tree      *analysis.Tree // the newest answer, laid out
	moment    moment
	width     int // width at the last Refresh
	innermost bool
	runtime   bool // show the runtime's frames
	flame     bool
	table     page.Table[*row, uint64] // of the visible frames
	opened    map[uint64]bool          // what the user expanded or collapsed
	openAll   int                      // 1: everything, -1: nothing, 0: what is large
	graph     graph
	flat      flat
	versus    versus
	through   through // only stacks that pass this line
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Stacks"), opened: make(map[uint64]bool)}
	p.table = page.Table[*row, uint64]{
		Columns: p.columns(), Noun: "frame", SearchHint: "part of file or function", FilterHint: "only stacks with a matching frame",
		Body: &p.Body, Key: func(r *row) uint64 { return r.key },
		Open: p.toggle, Arranged: p.flatten, Seek: p.seek,
	}
	p.table.Start(page.Order{By: "bytes"})
	if !s.Index.History() {
		p.moment = atEnd
	}
	p.asked = ask.New(s.Gate, func(_ context.Context, q question) *analysis.Tree {
		o := analysis.StackOptions{InnermostFirst: q.innermost, HideRuntime: !q.runtime, Only: q.through.only(q.index.Index)}
		if q.filter != "" {
			o.Match = func(label string) bool { return find.Text(label, q.filter) }
		}
		return q.index.Stacks(q.at, o)
	})
	p.newFlat()
	p.newVersus()
	p.bind()
	return p
}

// Rebase drops the tree. Opened and zoomed frames are identified by name, so they
// stay.
func (p *Page) Rebase(int) {
	p.tree, p.flat.shown, p.versus.shown = nil, nil, nil
	p.table.Forget()
	p.versus.table.Forget()
	p.flat.table.Forget()
}

// Back zooms out, then clears the filter, then the order, then the search, then
// goes back to the opened line.
func (p *Page) Back() bool {
	switch {
	case p.versus.on:
		return p.versusBack()
	case p.flat.on:
		return p.flat.table.Back()
	case p.flame && p.graph.out() || p.table.Back():
		return true
	case p.through.name != "":
		p.through, p.flat.on = through{}, true
		return true
	}
	return false
}

// at returns the event whose stacks to show.
func (p *Page) at() int { return p.moment.of(p.Scene) }

// of returns the event of a scene right before the moment.
func (m moment) of(s *page.Scene) int {
	switch m {
	case atPeak:
		return s.Summary.PeakEvent
	case atEnd:
		return s.Last()
	default:
		return s.Cursor()
	}
}

// String describes the moment.
func (m moment) String() string {
	return [...]string{atCursor: "at the cursor", atPeak: "at the peak", atEnd: "live at the end"}[m]
}

// Refresh asks for the tree and lays it out.
func (p *Page) Refresh(w, h int) tea.Cmd {
	p.width = w
	if p.versus.on {
		return p.refreshVersus(w, h)
	}
	if p.flat.on {
		return p.refreshLines(w, h)
	}
	cmd := p.asked.Ask(question{p.Scene.Edition(), p.at(), p.innermost, p.runtime, p.table.Filter, p.through})
	tree, ok := p.asked.Answer()
	if !ok {
		return cmd
	}
	if tree != p.tree {
		p.tree = tree
		p.graph.show(tree.Root)
		p.flatten()
	}
	p.table.Place(bodyRect(w, h))
	p.graph.layout(w, bodyRect(w, h).H)
	return cmd
}

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	g := p.shownGraph()
	if g == nil {
		return p.Body.Update(msg)
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.Body.Update(msg)
	case tea.MouseWheelMsg:
		g.wheel(msg)
	case tea.MouseClickMsg:
		if !p.versus.on {
			g.click(g.boxes, msg.X, msg.Y-bodyTop)
			break
		}
		for side, boxes := range p.versus.boxes {
			g.click(boxes, msg.X-side*(p.width/2+1), msg.Y-bodyTop-1)
		}
	}
	return nil
}

// shownGraph returns the shown flame graph, nil while a table is shown.
func (p *Page) shownGraph() *graph {
	switch {
	case p.versus.on && p.versus.flame:
		return &p.versus.graph
	case p.flame && !p.versus.on && !p.flat.on:
		return &p.graph
	}
	return nil
}

// rows are the shown table.
func (p *Page) rows() page.Rows {
	switch {
	case p.versus.on:
		return &p.versus.table
	case p.flat.on:
		return &p.flat.table
	}
	return &p.table
}

// graphKey handles a key in a flame graph. In a comparison a flame graph has only
// these keys.
func (p *Page) graphKey(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	g := p.shownGraph()
	return nil, g != nil && (g.key(msg, &p.Keys) || p.versus.on)
}

// turnGraph shows a flame graph, or a table again.
func (p *Page) turnGraph() {
	switch {
	case p.versus.on:
		p.versus.flame = !p.versus.flame
	case p.flat.on:
		p.flat.on, p.through = false, through{}
	default:
		p.flame = !p.flame
	}
}

// copy puts the frames from the selected one to the root on the clipboard.
func (p *Page) copy() tea.Cmd {
	if p.versus.on {
		return p.copyVersus()
	}
	if p.flat.on {
		if r, ok := p.flat.table.Current(); ok {
			return page.Copied(r.Name, "the "+p.flat.shown.By.String())
		}
		return nil
	}
	path := p.path()
	if len(path) == 0 {
		return nil
	}
	var text strings.Builder
	for _, n := range path {
		text.WriteString(n.Label + "\n")
	}
	return page.Copied(text.String(), "the stack")
}

// path returns the frames from the selected one to the root, which is left out.
func (p *Page) path() []*analysis.Node {
	if p.flame {
		return p.graph.path()
	}
	var nodes []*analysis.Node
	for r, _ := p.table.Current(); r != nil; r = r.parent {
		nodes = append(nodes, r.node)
	}
	return nodes
}
