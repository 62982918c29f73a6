// Package stacks is the page of memory by call stack, as a tree and as a flame
// graph, and by line, at the cursor, at the peak or at the end.
package stacks

import (
	"context"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
)

// moment is when the stacks are looked at.
type moment uint8

const (
	atCursor moment = iota
	atPeak
	atEnd
	moments
)

// question is what decides how the tree looks.
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
	page.Prompts
	scene     *page.Scene
	keys      keyMap
	asked     *ask.One[question, *analysis.Tree]
	tree      *analysis.Tree // the newest answer, laid out
	moment    moment
	width     int // of the last Refresh
	innermost bool
	runtime   bool // show the runtime's frames
	flame     bool
	table     page.Table[*row, uint64] // of the visible frames
	opened    map[uint64]bool          // what the reader expanded or collapsed
	openAll   int                      // 1: everything, -1: nothing, 0: what is large
	graph     graph
	flat      flat
	versus    versus
	through   through // only stacks that pass this line
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{scene: s, keys: newKeyMap(s), opened: make(map[uint64]bool)}
	p.table = page.Table[*row, uint64]{
		Columns: p.columns(), Noun: "frame", SearchHint: "part of file or function", FilterHint: "only stacks with a matching frame",
		Motion: p.keys.motion, Pane: p.keys.pane, Prompts: &p.Prompts, Key: func(r *row) uint64 { return r.key },
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
	return p
}

// Pace keeps a page that moves as a whole readable, and its bytes few.
func (*Page) Pace(w, h int) time.Duration { return time.Duration(w*h) * 60 * time.Microsecond }

// Rebase forgets the tree; what was opened in it and zoomed into is known by name.
func (p *Page) Rebase(int) {
	p.tree, p.flat.shown, p.versus.shown = nil, nil, nil
	p.table.Forget()
	p.versus.table.Forget()
	p.flat.table.Forget()
}

// Back zooms out, then clears the filter, then the order, then the search, then
// goes back to the line that was opened.
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

// at returns the event whose stacks are wanted.
func (p *Page) at() int { return p.moment.of(p.scene) }

// of returns the event of a scene that the moment is right after.
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

// String says when it is.
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
	cmd := p.asked.Ask(question{p.scene.Edition(), p.at(), p.innermost, p.runtime, p.table.Filter, p.through})
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
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.key(msg)
	case tea.MouseWheelMsg:
		switch {
		case p.versus.on && p.versus.flame:
			p.versus.graph.wheel(msg)
		case p.versus.on:
			p.versus.table.Wheel(msg)
		case p.flat.on:
			p.flat.table.Wheel(msg)
		case p.flame:
			p.graph.wheel(msg)
		default:
			p.table.Wheel(msg)
		}
	case tea.MouseClickMsg:
		switch {
		case p.versus.on:
			return p.clickVersus(msg, p.width)
		case p.flat.on:
			return p.flat.table.Click(msg)
		case !p.flame:
			return p.table.Click(msg)
		}
		p.graph.click(msg.X, msg.Y-bodyTop)
	}
	return nil
}

// viewKey takes the keys that mean the same in every view: which moment, in which
// order, with which frames.
func (p *Page) viewKey(msg tea.KeyPressMsg) bool {
	k := &p.keys
	switch {
	case key.Matches(msg, k.mine.Moment):
		p.moment = (p.moment + 1) % moments
	case key.Matches(msg, k.mine.Order):
		p.innermost = !p.innermost
	case key.Matches(msg, k.mine.Runtime):
		p.runtime = !p.runtime
	default:
		return false
	}
	return true
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	k := &p.keys
	switch {
	case p.versus.on:
		return p.versusKey(msg)
	case key.Matches(msg, k.mine.Versus):
		return p.turnVersus()
	case key.Matches(msg, k.mine.Lines):
		p.turnLines()
	case key.Matches(msg, k.mine.Toggle) && p.flat.on:
		p.flat.on, p.through = false, through{}
	case key.Matches(msg, k.mine.Toggle):
		p.flame = !p.flame
	case p.viewKey(msg):
	case key.Matches(msg, k.pane.Copy):
		return p.copy()
	case p.flat.on:
		return p.linesKey(msg)
	case p.flame && p.graph.key(msg, k):
	default:
		return p.treeKey(msg)
	}
	return nil
}

// copy puts the frames from the selected one to the root on the clipboard.
func (p *Page) copy() tea.Cmd {
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
	text := ""
	for _, n := range path {
		text += n.Label + "\n"
	}
	return page.Copied(text, "the stack")
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
