// Package segments is the page of the allocator's map at the cursor: every
// segment as a bar of its blocks, what is lost to gaps and rounding, and who
// keeps a segment from being given back.
package segments

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/analysis"
	"memtop/tui/ask"
	"memtop/tui/page"
)

type question struct {
	index page.Edition
	at    int
}

// Page is the segments page.
type Page struct {
	scene    *page.Scene
	keys     keyMap
	asked    *ask.One[question, *analysis.Map]
	listed   *ask.One[listQuestion, []int32]
	shown    listQuestion  // what rows answers
	state    *analysis.Map // that rows are of, nil before the first
	rows     []int32       // segments of state that are shown, in order
	list     page.List
	inside   bool   // the blocks of one segment are listed
	segment  uint64 // address of the segment whose blocks are listed
	blocks   page.List
	pool     int // 0: all, else one of state.Pools
	sort     sorting
	filter   string
	search   string
	prompt   *page.Prompt
	detail   page.Reader
	all      bool // show all frames
	scaled   bool
	alone    bool
	shape    shape
	selected uint64 // address of the selected segment, kept when time moves
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{scene: s, keys: newKeyMap(s), sort: sorting{column: bySize}}
	p.asked = ask.New(s.Gate, func(_ context.Context, q question) *analysis.Map { return q.index.SegmentsAt(q.at) })
	p.listed = ask.New(s.Gate, list)
	return p
}

// Pace keeps a page that moves as a whole readable, and its bytes few.
func (*Page) Pace(w, h int) time.Duration { return time.Duration(w*h) * 60 * time.Microsecond }

// Prompting returns the open prompt.
func (p *Page) Prompting() *page.Prompt { return p.prompt }

// EndPrompt closes the prompt.
func (p *Page) EndPrompt() { p.prompt = nil }

// Maximise shows the list alone, or with the detail again.
func (p *Page) Maximise() { p.alone = !p.alone }

// Rebase forgets the map: its blocks are known by numbers.
func (p *Page) Rebase(int) { p.shown, p.state, p.rows = listQuestion{}, nil, nil }

// Back leaves the blocks, then the filter, then the pool.
func (p *Page) Back() bool {
	switch {
	case p.inside:
		p.inside = false
	case p.filter != "":
		p.filter = ""
	case p.pool != 0:
		p.pool = 0
	default:
		return false
	}
	p.detail.Offset = 0
	return true
}

// Refresh asks for the map at the cursor and lists it.
func (p *Page) Refresh(w, h int) tea.Cmd {
	cmd := p.asked.Ask(question{p.scene.Edition(), p.scene.Cursor()})
	if state, ok := p.asked.Answer(); ok {
		p.pool = min(p.pool, len(state.Pools))
		cmd = tea.Batch(cmd, p.listed.Ask(listQuestion{p.scene.Edition(), state, p.sort, p.pool, p.filter}))
	}
	if rows, ok := p.listed.Answer(); ok && p.listed.Answered() != p.shown {
		p.take(p.listed.Answered(), rows)
	}
	p.shape = p.newShape(w, h)
	p.list.Resize(len(p.rows), p.shape.list.H-2)
	if s := p.opened(); s != nil {
		p.blocks.Resize(len(s.Blocks), p.shape.list.H-2)
	} else if p.state != nil {
		p.inside = false
	}
	p.detail.Resize(len(p.detailLines()), p.shape.detail.H-1)
	return cmd
}

// take shows a new list and keeps the selected segment under the cursor.
func (p *Page) take(q listQuestion, rows []int32) {
	p.shown, p.state, p.rows = q, q.state, rows
	p.list.Resize(len(p.rows), max(p.list.Height, 1))
	for row, i := range p.rows {
		if p.state.Segments[i].Addr == p.selected {
			p.list.Center(row)
		}
	}
}

// current returns the selected segment, nil when none is shown.
func (p *Page) current() *analysis.MapSegment {
	if p.list.Cursor < len(p.rows) {
		return &p.state.Segments[p.rows[p.list.Cursor]]
	}
	return nil
}

// opened returns the segment whose blocks are listed.
func (p *Page) opened() *analysis.MapSegment {
	if s := p.current(); p.inside && s != nil && s.Addr == p.segment {
		return s
	}
	return nil
}

// block returns the selected block, nil when no blocks are listed.
func (p *Page) block() *analysis.MapBlock {
	if s := p.opened(); s != nil && p.blocks.Cursor < len(s.Blocks) {
		return &s.Blocks[p.blocks.Cursor]
	}
	return nil
}

// active returns the list that the keys move.
func (p *Page) active() *page.List {
	if p.inside {
		return &p.blocks
	}
	return &p.list
}

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.key(msg)
	case tea.MouseWheelMsg:
		if p.shape.detail.Contains(msg.X, msg.Y) {
			p.detail.Scroll(map[bool]int{true: -3, false: 3}[msg.Button == tea.MouseWheelUp])
			return nil
		}
		p.active().Wheel(msg)
		p.moved()
	case tea.MouseClickMsg:
		return p.click(msg)
	}
	return nil
}
