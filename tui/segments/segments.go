// Package segments is the page of the allocator's map at the cursor: every
// segment as a bar of its blocks, the bytes lost to gaps and rounding, and the
// blocks that keep a segment from being given back.
package segments

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
)

type question struct {
	index page.Edition
	at    int
}

// Page is the segments page.
type Page struct {
	page.Body
	asked   *ask.One[question, *analysis.Map]
	listed  *ask.One[listQuestion, []*analysis.MapSegment]
	shown   listQuestion            // what the table's rows answer
	state   *analysis.Map           // the map of the rows, nil before the first
	room    analysis.LargestRequest // in it
	table   page.Table[*analysis.MapSegment, uint64]
	largest int64                                  // size of a segment that is shown
	named   *ask.One[nameQuestion, page.Names]     // the blocks of one segment
	inside  bool                                   // the blocks of one segment are listed
	segment uint64                                 // address of the segment whose blocks are listed
	blocks  page.Table[*analysis.MapBlock, uint64] // stays on its row when time moves
	pool    int                                    // 0: all, else one of state.Pools
	scaled  bool
	shape   shape
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Segments")}
	p.table = page.Table[*analysis.MapSegment, uint64]{
		Noun: "segment", SearchHint: "address, pool, stream, type, stack", FilterHint: "address, pool, stream, type, stack, pinned",
		Body: &p.Body, Open: p.open, Moved: p.moved,
		Key: func(s *analysis.MapSegment) uint64 { return s.Addr },
	}
	p.table.Start(page.Order{By: "size"})
	p.blocks = page.Table[*analysis.MapBlock, uint64]{
		Columns: p.blockColumns(), Style: blockStyle, Open: p.open, Moved: func() { p.Detail.Offset = 0 },
		Body: &page.Body{Keys: page.Keys{Motion: p.Keys.Motion}}, // the others are the segments', also here
	}
	p.asked = ask.New(s.Gate, func(_ context.Context, q question) *analysis.Map { return q.index.SegmentsAt(q.at) })
	p.listed = ask.New(s.Gate, list)
	p.named = ask.New(s.Gate, nameBlocks)
	p.bind()
	return p
}

// Rebase forgets the map: its blocks are known by numbers.
func (p *Page) Rebase(int) {
	p.shown, p.state, p.table.Columns = listQuestion{}, nil, nil
	p.table.Forget()
	p.blocks.Forget()
}

// Back leaves the blocks, then the filter, order and search, then the pool.
func (p *Page) Back() bool {
	switch {
	case p.inside:
		p.inside = false
	case p.table.Back():
	case p.pool != 0:
		p.pool = 0
	default:
		return false
	}
	p.Detail.Offset = 0
	return true
}

// Refresh asks for the map at the cursor and lists it.
func (p *Page) Refresh(w, h int) tea.Cmd {
	cmd := p.asked.Ask(question{p.Scene.Edition(), p.Scene.Cursor()})
	if state, ok := p.asked.Answer(); ok {
		p.pool = min(p.pool, len(state.Pools))
		cmd = tea.Batch(cmd, p.listed.Ask(listQuestion{p.Scene.Edition(), state, p.table.Order, p.pool, p.table.Filter}))
	}
	if rows, ok := p.listed.Answer(); ok && p.listed.Answered() != p.shown {
		p.take(p.listed.Answered(), rows)
	}
	p.shape = p.newShape(w, h)
	_, table := p.shape.list.Top(1)
	p.table.Place(table)
	p.blocks.Place(table)
	if s := p.opened(); s != nil {
		p.blocks.At = func(i int) *analysis.MapBlock { return &s.Blocks[i] }
		p.blocks.Resize(len(s.Blocks), p.blocks.Height)
		cmd = tea.Batch(cmd, p.named.Ask(nameQuestion{p.shown.index, p.state, s}))
	} else if p.state != nil {
		p.inside = false
	}
	p.PlaceDetail(p.shape.detail, p.detailLines())
	return cmd
}

// take shows a new list.
func (p *Page) take(q listQuestion, rows []*analysis.MapSegment) {
	if q.state != p.state {
		p.room = analysis.LargestRequestIn(p.Scene.Index, q.state)
	}
	p.shown, p.state, p.largest = q, q.state, 1
	for _, s := range rows {
		p.largest = max(p.largest, s.Size)
	}
	p.table.Columns = columns(p.Scene.Index, p.drawBar)
	p.table.Show(rows, q.order)
}

// opened returns the segment whose blocks are listed.
func (p *Page) opened() *analysis.MapSegment {
	if s, ok := p.table.Current(); ok && p.inside && s.Addr == p.segment {
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
