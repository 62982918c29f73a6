// Package stacks is the page of memory by call stack, as a tree and as a flame
// graph, at the cursor, at the peak or at the end.
package stacks

import (
	"context"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/analysis"
	"memtop/tui/ask"
	"memtop/tui/find"
	"memtop/tui/page"
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
}

// Page is the stacks page.
type Page struct {
	scene     *page.Scene
	keys      keyMap
	asked     *ask.One[question, *analysis.Tree]
	tree      *analysis.Tree // the newest answer, laid out
	moment    moment
	innermost bool
	runtime   bool // show the runtime's frames
	filter    string
	search    string
	prompt    *page.Prompt
	flame     bool
	order     order
	rows      []row
	list      page.List
	opened    map[uint64]bool // what the reader expanded or collapsed himself
	openAll   int             // 1: everything, -1: nothing, 0: what is large
	graph     graph
	wide      bool // there is room for the bytes of the frame itself
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{scene: s, keys: newKeyMap(s), opened: make(map[uint64]bool)}
	if !s.Index.History() {
		p.moment = atEnd
	}
	p.asked = ask.New(s.Gate, func(_ context.Context, q question) *analysis.Tree {
		o := analysis.StackOptions{InnermostFirst: q.innermost, HideRuntime: !q.runtime}
		if q.filter != "" {
			o.Match = func(label string) bool { return find.Text(label, q.filter) }
		}
		return q.index.Stacks(q.at, o)
	})
	return p
}

// Pace keeps a page that moves as a whole readable, and its bytes few.
func (*Page) Pace(w, h int) time.Duration { return time.Duration(w*h) * 60 * time.Microsecond }

// Prompting returns the open prompt.
func (p *Page) Prompting() *page.Prompt { return p.prompt }

// EndPrompt closes the prompt.
func (p *Page) EndPrompt() { p.prompt = nil }

// Rebase forgets the tree; what was opened in it and zoomed into is known by name.
func (p *Page) Rebase(int) { p.tree, p.rows = nil, nil }

// Back zooms out, then clears the filter, then the search.
func (p *Page) Back() bool {
	switch {
	case p.flame && p.graph.out():
	case p.filter != "":
		p.filter = ""
	case p.search != "":
		p.search = ""
		p.flatten()
	default:
		return false
	}
	return true
}

// at returns the event whose stacks are wanted.
func (p *Page) at() int {
	switch p.moment {
	case atPeak:
		return p.scene.Summary.PeakEvent
	case atEnd:
		return p.scene.Last()
	default:
		return p.scene.Cursor()
	}
}

// Refresh asks for the tree and lays it out.
func (p *Page) Refresh(w, h int) tea.Cmd {
	cmd := p.asked.Ask(question{p.scene.Edition(), p.at(), p.innermost, p.runtime, p.filter})
	tree, ok := p.asked.Answer()
	if !ok {
		return cmd
	}
	if tree != p.tree {
		p.tree = tree
		p.graph.show(tree.Root)
		p.flatten()
	}
	p.wide = isWide(w)
	p.list.Resize(len(p.rows), h-treeTop-detailRows)
	p.graph.layout(w, h-flameTop-detailRows)
	return cmd
}

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.key(msg)
	case tea.MouseWheelMsg:
		if p.flame {
			p.graph.wheel(msg)
		} else {
			p.list.Wheel(msg)
		}
	case tea.MouseClickMsg:
		if p.flame {
			p.graph.click(msg.X, msg.Y-flameTop)
		} else if msg.Y == 1 {
			p.clickHead(msg.X)
		} else if was := p.list.Cursor; p.list.Click(msg.Y-treeTop) && was == p.list.Cursor {
			p.toggle()
		}
	}
	return nil
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	k := &p.keys
	switch {
	case key.Matches(msg, k.mine.Toggle):
		p.flame = !p.flame
	case key.Matches(msg, k.mine.Moment):
		p.moment = (p.moment + 1) % moments
	case key.Matches(msg, k.mine.Order):
		p.innermost = !p.innermost
	case key.Matches(msg, k.mine.Runtime):
		p.runtime = !p.runtime
	case key.Matches(msg, k.pane.Search):
		p.prompt = page.NewPrompt("search frames", "", "part of file or function", p.startSearch)
	case key.Matches(msg, k.pane.Filter):
		p.prompt = page.NewPrompt("filter", p.filter, "only stacks with a matching frame; empty shows all", p.setFilter)
	case key.Matches(msg, k.pane.Next):
		return p.next(1)
	case key.Matches(msg, k.pane.Previous):
		return p.next(-1)
	case key.Matches(msg, k.pane.Copy):
		return p.copy()
	case p.flame:
		p.graph.key(msg, k)
	default:
		p.treeKey(msg)
	}
	return nil
}

func (p *Page) setFilter(text string) tea.Cmd {
	p.filter = text
	return nil
}

func (p *Page) startSearch(text string) tea.Cmd {
	p.search = text
	p.flatten() // what matches is not folded
	if text == "" {
		return nil
	}
	return p.next(1)
}

// copy puts the frames from the selected one to the root on the clipboard.
func (p *Page) copy() tea.Cmd {
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
	if p.list.Cursor >= len(p.rows) {
		return nil
	}
	var nodes []*analysis.Node
	for i := p.list.Cursor; i >= 0; i = p.rows[i].parent {
		nodes = append(nodes, p.rows[i].node)
	}
	return nodes
}
