// Package events is the page of all allocator events: a list of any length, of
// which only what is visible is ever formatted, search over everything in it,
// and the detail of one event. Moving through it moves the cursor that the
// other pages show.
package events

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// Page is the events page.
type Page struct {
	page.Prompts
	scene   *page.Scene
	keys    keyMap
	table   page.Table[row, int]
	rows    rows
	follow  int // the cursor that the list shows
	search  *find.Scan
	filter  *find.Scan
	hits    *hitList // what the filter left, nil without one
	order   *ask.One[sortQuestion, []int32]
	states  *ask.One[stateQuestion, *analysis.Map]
	asked   stateQuestion // of states, the newest
	jump    bool          // go to the first match when one is found
	from    int           // where the search began
	detail  page.Reader
	short   bool       // leave out the runtime's frames
	alone   bool       // the list is maximised
	ordered page.Order // that top was last decided for
	top     bool       // show the first row of a new order
	shape   shape
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{scene: s, keys: newKeyMap(s), follow: -2, short: true}
	p.search, p.filter = find.NewScan(s.Events()), find.NewScan(s.Events())
	p.order, p.states = ask.New(s.Gate, sortEvents), ask.New(s.Gate, stateAt)
	p.rows = rows{events: s.Events().Len(), marks: s.Marks}
	p.table = page.Table[row, int]{
		Noun: "event", SearchHint: "action, address, size, frame, metadata; >1MiB", FilterHint: "show only matching events",
		Motion: p.keys.motion, Pane: p.keys.pane, Prompts: &p.Prompts, At: p.rows.at, Style: p.rowStyle, Whole: p.drawWhole,
		Open: p.otherEnd, Moved: p.moved, Arranged: p.arranged, Seek: p.seek,
	}
	return p
}

// Pace keeps a page that moves as a whole readable, and its bytes few.
func (*Page) Pace(w, h int) time.Duration { return time.Duration(w*h) * 90 * time.Microsecond }

// Maximise shows the list alone, or with the detail again.
func (p *Page) Maximise() { p.alone = !p.alone }

// Back clears the filter, then the order, then the search.
func (p *Page) Back() bool { return p.table.Back() }

// Refresh lays the page out, follows the shared cursor, and goes on searching.
func (p *Page) Refresh(w, h int) tea.Cmd {
	p.shape = newShape(w, h, p.alone)
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
	if p.follow != p.scene.Cursor() {
		p.follow = p.scene.Cursor()
		p.table.Center(p.rows.of(p.follow))
		p.detail.Offset = 0
	}
	p.detail.Resize(len(p.detailLines()), p.shape.detail.H-1)
	if p.shape.state.H > 0 {
		cmd = tea.Batch(cmd, p.askState())
	}
	return cmd
}

// grow takes the events that have come.
func (p *Page) grow() {
	events, t := p.scene.Events(), p.scene.Tables()
	p.search.Grow(t, events)
	p.filter.Grow(t, events)
	p.rows.events, p.rows.marks = events.Len(), p.scene.Marks
	p.table.Columns = columns(p.scene.Index, p)
}

// Rebase looks again through events that have other numbers now.
func (p *Page) Rebase(int) {
	events, t := p.scene.Events(), p.scene.Tables()
	p.search.Restart(t, events)
	p.filter.Restart(t, events)
	p.follow, p.hits, p.asked, p.table.Columns = -2, nil, stateQuestion{}, nil
}

// listed puts what the filter left into the rows, and what is sorted into its
// order once that is known.
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
	cmd := p.order.Ask(sortQuestion{p.scene.Edition(), order, p.hits})
	if sorted, ok := p.order.Answer(); ok && p.order.Fresh() {
		p.rows.hits, p.rows.filtered, p.rows.sorted, p.table.Shown = sorted, true, true, order
	}
	return cmd
}

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.key(msg)
	case tea.MouseWheelMsg:
		if p.shape.detail.Contains(msg.X, msg.Y) {
			p.detail.Wheel(msg)
			return nil
		}
		p.table.Wheel(msg)
	case tea.MouseClickMsg:
		return p.table.Click(msg)
	}
	return nil
}

// moved takes the shared cursor to the row that the list's is on.
func (p *Page) moved() {
	p.scene.Move(p.rows.at(p.table.Cursor).event)
	p.follow = p.scene.Cursor()
	p.detail.Offset = 0
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	switch k := &p.keys; {
	case p.detail.Sideways(msg, k.motion):
	case key.Matches(msg, k.pane.Expand):
		p.short = !p.short
	case key.Matches(msg, k.pane.Copy):
		return page.Copied(page.CopyLines(page.EventLines(p.scene, p.scene.Cursor(), true)), "the event")
	case key.Matches(msg, k.mine.NextSame):
		return p.sameStack(1)
	case key.Matches(msg, k.mine.PreviousSame):
		return p.sameStack(-1)
	default:
		cmd, _ := p.table.Press(msg)
		return cmd
	}
	return nil
}

// detailLines returns what the detail pane shows.
func (p *Page) detailLines() []page.Line {
	if p.shape.detail.H == 0 {
		return nil
	}
	return page.EventLines(p.scene, p.scene.Cursor(), !p.short)
}

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
