// Package events is the page of all allocator events: a list of any length, of
// which only what is visible is ever formatted, search over everything in it,
// and the detail of one event. Moving through it moves the cursor that the
// other pages show.
package events

import (
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// Page is the events page.
type Page struct {
	page.Body
	table   page.Table[row, int]
	rows    rows
	follow  int // the cursor as shown in the list
	search  *find.Scan
	filter  *find.Scan
	hits    *hitList // events that passed the filter, nil without one
	order   *ask.One[sortQuestion, []int32]
	states  *ask.One[stateQuestion, *analysis.Map]
	jump    bool       // go to the first match when one is found
	from    int        // where the search began
	ordered page.Order // the order for which top was last set
	top     bool       // show the first row of a new order
	shape   shape
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Events"), follow: -2}
	p.search, p.filter = find.NewScan(s.Events()), find.NewScan(s.Events())
	p.order, p.states = ask.New(s.Gate, sortEvents), ask.New(s.Gate, stateAt)
	p.rows = rows{events: s.Events().Len(), marks: s.Marks}
	p.table = page.Table[row, int]{
		Noun: "event", SearchHint: "action, address, size, frame, metadata; >1MiB", FilterHint: "show only matching events",
		Body: &p.Body, At: p.rows.at, Style: p.rowStyle, Whole: p.drawWhole,
		Open: p.otherEnd, Moved: p.moved, Arranged: p.arranged, Seek: p.seek,
	}
	p.bind()
	return p
}

// Refresh lays the page out, follows the shared cursor, and goes on searching.
func (p *Page) Refresh(w, h int) tea.Cmd {
	p.shape = newShape(w, h, p.Alone)
	p.grow()
	cmd := tea.Batch(p.search.Refresh(), p.filter.Refresh(), p.listed())
	_, table := p.shape.list.Top(1)
	p.table.Place(table)
	p.table.Resize(p.rows.count(), p.table.Height)
	p.jumpToMatch()
	if p.top && (p.table.Order == page.Order{} || p.order.Fresh()) {
		p.top = false
		if p.rows.sorted {
			p.table.To(0)
			p.moved()
		} else {
			p.follow = -2
		}
	}
	if p.follow != p.Scene.Cursor() {
		p.follow = p.Scene.Cursor()
		p.table.Center(p.rows.of(p.follow))
		p.Detail.Offset = 0
	}
	p.PlaceDetail(p.shape.detail, p.detailLines())
	if p.shape.state.H > 0 {
		cmd = tea.Batch(cmd, p.askState())
	}
	return cmd
}

// grow takes new events.
func (p *Page) grow() {
	events, t := p.Scene.Events(), p.Scene.Tables()
	p.search.Grow(t, events)
	p.filter.Grow(t, events)
	p.rows.events, p.rows.marks = events.Len(), p.Scene.Marks
	p.table.Columns = columns(p.Scene.Index, p)
}

// Rebase searches the events again, because they have new numbers.
func (p *Page) Rebase(int) {
	events, t := p.Scene.Events(), p.Scene.Tables()
	p.search.Restart(t, events)
	p.filter.Restart(t, events)
	p.follow, p.hits, p.table.Columns = -2, nil, nil
}

// listed puts the filtered events into the rows, in sorted order once that is
// known.
func (p *Page) listed() tea.Cmd {
	found := p.filter.Hits()
	p.rows.hits, p.rows.filtered, p.rows.sorted = found, p.filter.Query() != "", false
	p.table.Shown = page.Order{}
	switch {
	case !p.rows.filtered:
		p.hits = nil
	case p.hits == nil || len(p.hits.events) != len(found) || len(found) > 0 && &p.hits.events[0] != &found[0]:
		p.hits = &hitList{found[:len(found):len(found)]}
	}
	order := p.table.Order
	if order == (page.Order{}) || !p.filter.Done() {
		return nil
	}
	cmd := p.order.Ask(sortQuestion{p.Scene.Edition(), order, p.hits})
	if sorted, ok := p.order.Answer(); ok && p.order.Fresh() {
		p.rows.hits, p.rows.filtered, p.rows.sorted, p.table.Shown = sorted, true, true, order
	}
	return cmd
}

// moved moves the shared cursor to the list's row.
func (p *Page) moved() {
	p.Scene.Move(p.rows.at(p.table.Cursor).event)
	p.follow = p.Scene.Cursor()
	p.Detail.Offset = 0
}

// detailLines returns what the detail pane shows.
func (p *Page) detailLines() []page.Line { return page.EventLines(p.Scene, p.Scene.Cursor(), p.Frames) }

// shape is where the panes are.
type shape struct{ list, detail, state screen.Rect }

func newShape(w, h int, alone bool) shape {
	all := screen.Rect{W: w, H: h}
	switch {
	case alone:
		return shape{list: all}
	case w >= 140:
		list, detail := all.Left(w * 3 / 5)
		if h < 30 {
			return shape{list: list, detail: detail}
		}
		detail, state := detail.Bottom(stateRows)
		return shape{list, detail, state}
	default:
		list, detail := all.Top(h - max(h*2/5, 5))
		return shape{list: list, detail: detail}
	}
}
