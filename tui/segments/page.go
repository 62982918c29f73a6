// Package segments is the page of the allocator's map at the cursor: every
// segment as a bar of its blocks, what is lost to gaps and rounding, and who
// keeps a segment from being given back.
package segments

import (
	"context"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/ask"
	"memtop/tui/find"
	"memtop/tui/page"
)

type question struct {
	index *analysis.Index
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
	p := &Page{scene: s, keys: newKeyMap(), sort: sorting{column: bySize}}
	p.asked = ask.New(func(_ context.Context, q question) *analysis.Map { return q.index.SegmentsAt(q.at) })
	p.listed = ask.New(list)
	return p
}

// Prompting returns the open prompt.
func (p *Page) Prompting() *page.Prompt { return p.prompt }

// EndPrompt closes the prompt.
func (p *Page) EndPrompt() { p.prompt = nil }

// Maximise shows the list alone, or with the detail again.
func (p *Page) Maximise() { p.alone = !p.alone }

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
	cmd := p.asked.Ask(question{p.scene.Index, p.scene.Cursor()})
	if state, ok := p.asked.Answer(); ok {
		p.pool = min(p.pool, len(state.Pools))
		cmd = tea.Batch(cmd, p.listed.Ask(listQuestion{p.scene.Index, state, p.sort, p.pool, p.filter}))
	}
	if rows, ok := p.listed.Answer(); ok && p.listed.Answered() != p.shown {
		p.take(p.listed.Answered(), rows)
	}
	p.shape = p.newShape(w, h)
	p.list.Resize(len(p.rows), p.shape.list.H-2)
	if s := p.opened(); s != nil {
		p.blocks.Resize(len(s.Blocks), p.shape.list.H-2)
	} else {
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
func (p *Page) current() *analysis.Segment {
	if p.list.Cursor < len(p.rows) {
		return &p.state.Segments[p.rows[p.list.Cursor]]
	}
	return nil
}

// opened returns the segment whose blocks are listed.
func (p *Page) opened() *analysis.Segment {
	if s := p.current(); p.inside && s != nil && s.Addr == p.segment {
		return s
	}
	return nil
}

// block returns the selected block, nil when no blocks are listed.
func (p *Page) block() *analysis.Block {
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

func (p *Page) click(msg tea.MouseClickMsg) tea.Cmd {
	r, was := p.shape.list, p.active().Cursor
	if r.Contains(msg.X, msg.Y) && msg.Y == r.Y+1 && !p.inside {
		p.clickHead(msg.X-r.X, r.W)
		return nil
	}
	if !r.Contains(msg.X, msg.Y) || !p.active().Click(msg.Y-r.Y-2) {
		return nil
	}
	if was == p.active().Cursor {
		return p.open()
	}
	p.moved()
	return nil
}

func (p *Page) moved() {
	p.detail.Offset = 0
	if s := p.current(); s != nil {
		p.selected = s.Addr
	}
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	k := &p.keys
	switch {
	case key.Matches(msg, k.motion.Left):
		p.detail.Scroll(-1)
	case key.Matches(msg, k.motion.Right):
		p.detail.Scroll(1)
	case p.active().Key(msg, k.motion):
		p.moved()
	case key.Matches(msg, k.pane.Open):
		return p.open()
	case key.Matches(msg, k.pane.Expand):
		p.all = !p.all
	case key.Matches(msg, k.pane.Search):
		p.prompt = page.NewPrompt("search", "", "address, pool, stream, type, stack", nil, p.startSearch)
	case key.Matches(msg, k.pane.Filter):
		p.prompt = page.NewPrompt("filter", p.filter, "address, pool, stream, type, stack, pinned; empty shows all", nil, p.setFilter)
	case key.Matches(msg, k.pane.Next):
		return p.next(1)
	case key.Matches(msg, k.pane.Previous):
		return p.next(-1)
	case key.Matches(msg, k.pane.Copy):
		return page.Copied(page.CopyLines(p.detailLines()), "the detail")
	default:
		p.arrange(msg)
	}
	return nil
}

// arrange answers the keys that change what is listed and how.
func (p *Page) arrange(msg tea.KeyPressMsg) {
	k := &p.keys
	switch {
	case key.Matches(msg, k.pane.SortLeft):
		p.sort.column = (p.sort.column + sortColumns - 1) % sortColumns
	case key.Matches(msg, k.pane.SortRight):
		p.sort.column = (p.sort.column + 1) % sortColumns
	case key.Matches(msg, k.pane.Invert):
		p.sort.inverse = !p.sort.inverse
	case key.Matches(msg, k.mine.Pool):
		if p.state != nil {
			p.pool = (p.pool + 1) % (len(p.state.Pools) + 1)
		}
	case key.Matches(msg, k.mine.Scale):
		p.scaled = !p.scaled
	}
}

// open goes into a segment, or from a block to the event that made it.
func (p *Page) open() tea.Cmd {
	s := p.current()
	if s == nil {
		return nil
	}
	if !p.inside {
		p.inside, p.segment, p.blocks = true, s.Addr, page.List{}
		p.detail.Offset = 0
		return nil
	}
	b := p.block()
	switch {
	case b == nil || !b.State.Live():
		return page.Say("this block is free")
	case !b.Known:
		return page.Say("no event tells of this block")
	}
	a := p.scene.Index.Lifetimes().Allocation(b.Allocation)
	switch {
	case a.Open >= 0:
		p.scene.Move(a.Open)
	case a.Close != trace.Never:
		p.scene.Move(a.Close)
	default:
		return page.Say("held from before recording and never freed: no event tells of this block")
	}
	return page.Open(page.Events)
}

func (p *Page) setFilter(text string) tea.Cmd {
	p.filter = text
	return nil
}

func (p *Page) startSearch(text string) tea.Cmd {
	p.search = text
	if text == "" {
		return nil
	}
	return p.next(1)
}

// next goes to the next segment that matches the search, around the ends.
func (p *Page) next(direction int) tea.Cmd {
	if p.search == "" {
		return page.Say("nothing searched for yet: / searches")
	}
	n := len(p.rows)
	for step := 1; step <= n; step++ {
		i := ((p.list.Cursor+direction*step)%n + n) % n
		if find.Text(segmentText(p.scene.Index, &p.state.Segments[p.rows[i]]), p.search) {
			p.inside = false
			p.list.Center(i)
			p.moved()
			return nil
		}
	}
	return page.Say("no segment matches " + p.search)
}
