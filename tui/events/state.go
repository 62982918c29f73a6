package events

import (
	"context"
	"sort"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// stateRows is how many rows the allocator's state takes under the detail.
const stateRows = 7

// stateQuestion asks for the allocator's map right after an event.
type stateQuestion struct {
	index page.Edition
	at    int
}

func stateAt(_ context.Context, q stateQuestion) *analysis.Map { return q.index.SegmentsAt(q.at) }

// askState asks for the map at the cursor.
func (p *Page) askState() tea.Cmd {
	return p.states.Ask(stateQuestion{p.Scene.Edition(), p.Scene.Cursor()})
}

// drawState draws the allocator's state after the selected event: the totals, and
// the segment that the event is about with a pointer to its place. All segments
// are on their own page.
func (p *Page) drawState(c screen.Canvas) {
	m, ok := p.states.Answer()
	right := "5 shows all segments"
	if !p.states.Fresh() {
		right = "…"
	}
	c.Rule(0, "Allocator after it", right, false)
	if !ok {
		return
	}
	if p.Scene.Index.Uncached() {
		c.Fit(1, 1, c.Width()-2, "live "+screen.Bytes(m.Requested), screen.Plain)
		c.Fit(1, 2, c.Width()-2, page.Uncached, screen.Dim)
		return
	}
	c.Fit(1, 1, c.Width()-2, "live "+screen.Bytes(m.Requested)+" + rounding "+screen.Bytes(m.Rounding)+" + free "+
		screen.Bytes(m.Free)+" = reserved "+screen.Bytes(m.Reserved), screen.Plain)
	c.Fit(1, 2, c.Width()-2, screen.Count(len(m.Segments))+" segments, of which the largest free piece fits "+screen.Bytes(m.LargestFit()), screen.Plain)
	addr, ok := p.address()
	if !ok {
		return
	}
	s := segmentOf(m, addr)
	if s == nil {
		c.Fit(1, 4, c.Width()-2, screen.Address(addr)+" is in no segment now", screen.Dim)
		return
	}
	c.Fit(1, 4, c.Width()-2, "segment "+screen.Address(s.Addr)+"  "+screen.Bytes(s.Size)+"  "+s.Class+", pool "+
		page.PoolText(p.Scene.Tables(), s.Pool)+", "+screen.Percent(s.Live, s.Size)+" used", screen.Plain)
	w := c.Width() - 2
	page.DrawBar(p.Scene, c, 1, 5, w, s)
	c.Set(1+min(int(float64(addr-s.Addr)/float64(max(s.Size, 1))*float64(w)), w-1), 6, '▲', screen.Title)
}

// address returns the address that the selected event is about.
func (p *Page) address() (uint64, bool) {
	at := p.Scene.Cursor()
	if at < 0 || at > p.Scene.Last() {
		return 0, false
	}
	e := p.Scene.Events().At(at)
	return e.Addr, e.Absent&trace.NoAddr == 0 && e.Kind != trace.OOM
}

// segmentOf returns the segment with an address, nil for none.
func segmentOf(m *analysis.Map, addr uint64) *analysis.MapSegment {
	i := sort.Search(len(m.Segments), func(i int) bool { return m.Segments[i].Addr > addr }) - 1
	if i < 0 || addr-m.Segments[i].Addr >= uint64(m.Segments[i].Size) {
		return nil
	}
	return &m.Segments[i]
}
