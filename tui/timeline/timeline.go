// Package timeline is the page of memory over time: bands stacked by category
// or allocation, what was alive at the cursor, and the way from a band to
// its stacks, its allocations and their events.
package timeline

import (
	"context"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/page"
)

// chartQuestion is the input for the chart.
type chartQuestion struct {
	index   page.Edition
	by      banding
	time    bool
	window  window
	columns int
	every   int // events of a column, 0 to cut the window into equal ones
	bands   int // of allocations
}

// How many allocations have their own band: as many as the plot has rows, within
// these limits. Small plots must still show large allocations, and there are only
// so many letters.
const (
	leastBands = 10
	mostBands  = 26
)

// Page is the timeline page.
type Page struct {
	page.Body
	charts   *ask.One[chartQuestion, *analysis.Timeline]
	chart    *analysis.Timeline // the newest answer, nil before the first
	charted  chartQuestion
	by       banding
	time     bool
	reserved bool
	fit      bool // the y axis begins at the lowest level in the window
	window   window
	follow   int // the cursor for which the window was last moved
	following
	drill    drill
	shape    shape
	layout   layout
	dragging bool
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	p := &Page{Body: page.NewBody(s, "Timeline"), reserved: true, follow: -2}
	p.window = window{0, s.Events().Len()}
	p.charts = ask.New(s.Gate, func(_ context.Context, q chartQuestion) *analysis.Timeline {
		t := draw(q)
		if q.by == byAllocation {
			t.SplitByAllocation(q.index.Index, q.bands)
		}
		return &t
	})
	p.drill = newDrill(s)
	p.bind()
	return p
}

// Rebase keeps the same events in view under other numbers.
func (p *Page) Rebase(earlier int) {
	a := p.axis()
	p.window = a.clamp(window{p.window.from - earlier, p.window.to - earlier})
	p.follow, p.every = -2, 0
	p.chart, p.charted = nil, chartQuestion{}
	p.drill.forget()
}

func draw(q chartQuestion) analysis.Timeline {
	switch {
	case q.every > 0:
		return q.index.TimelineEvery(q.window.from, q.every, q.columns)
	case q.time:
		return q.index.TimelineByTime(q.window.from, q.window.to, q.columns)
	default:
		return q.index.Timeline(q.window.from, q.window.to, q.columns)
	}
}

func (p *Page) axis() axis {
	return axis{index: p.Scene.Index, time: p.time && p.Scene.Index.Timed(), n: p.Scene.Events().Len()}
}

// Maximise shows the chart alone, then the lists alone, then both.
func (p *Page) Maximise() { p.layout = (p.layout + 1) % layouts }

// Back goes one step up towards all bands.
func (p *Page) Back() bool { return p.drill.back() }

// Refresh follows the shared cursor and asks for the chart and the live
// allocations.
func (p *Page) Refresh(w, h int) tea.Cmd {
	p.shape = p.newShape(w, h)
	p.moveWindow()
	var cmds []tea.Cmd
	if p.shape.plot.W > 0 && p.Scene.Index.History() {
		cmds = append(cmds, p.charts.Ask(p.question()))
		if chart, ok := p.charts.Answer(); ok {
			p.chart, p.charted = chart, p.charts.Answered()
		}
	}
	return tea.Batch(append(cmds, p.drill.refresh(p))...)
}

// moveWindow keeps the end in view while the cursor follows it, else the cursor.
func (p *Page) moveWindow() {
	switch {
	case p.onGrid():
		p.goAlong(p.shape.plot.W)
	case p.Scene.Following:
		p.every = 0
		w, n := p.window, p.Scene.Last()+1
		if w.to < n || w.to > n {
			p.window = p.axis().clamp(window{w.from + n - w.to, n})
			if p.whole {
				p.window = p.axis().whole()
			}
		}
	case p.follow != p.Scene.Cursor():
		p.window = p.axis().include(p.window, p.Scene.Cursor())
	}
	p.follow = p.Scene.Cursor()
}

// question returns the question for the chart.
func (p *Page) question() chartQuestion {
	q := chartQuestion{
		index: p.Scene.Edition(), by: p.by, time: p.axis().time, window: p.window, columns: p.shape.plot.W,
		bands: min(max(p.shape.plot.H, leastBands), mostBands),
	}
	if p.onGrid() {
		q.every = p.every
	}
	return q
}

// Update handles keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		p.wheel(msg)
	case tea.MouseClickMsg:
		return p.click(msg)
	case tea.MouseMotionMsg:
		if p.dragging {
			p.pointAt(msg.X)
		}
	case tea.MouseReleaseMsg:
		p.dragging = false
	default:
		return p.Body.Update(msg)
	}
	return nil
}

// key handles the shared keys for the chart, and leaves the rest to the lists.
func (p *Page) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k := &p.Keys; {
	case key.Matches(msg, k.Motion.Left):
		p.step(-1)
	case key.Matches(msg, k.Motion.Right):
		p.step(1)
	case key.Matches(msg, k.Pane.ZoomIn):
		p.zoom(0.5)
	case key.Matches(msg, k.Pane.ZoomOut):
		p.zoom(2)
	case key.Matches(msg, k.Pane.Filter):
		p.Ask("filter", p.drill.filter, "stack, address or category; empty shows all", p.drill.setFilter)
	case key.Matches(msg, k.Pane.Search):
		p.Ask("search", "", "stack, address or category", p.drill.startSearch)
	default:
		return p.drill.key(msg, p), true
	}
	return nil, true
}

// zoom scales the window by a factor around the cursor.
func (p *Page) zoom(times float64) {
	p.window = p.axis().zoom(p.window, p.Scene.Cursor(), times)
	p.chosen()
}

func (p *Page) showWhole() {
	p.window = p.axis().whole()
	p.chosen()
}

func (p *Page) turnBands() {
	p.by = (p.by + 1) % (byAllocation + 1)
	p.drill.reset()
}

func (p *Page) toggleTime() tea.Cmd {
	if !p.Scene.Index.Timed() {
		return page.Say("the events of this file carry no times")
	}
	p.time = !p.time
	return nil
}

// pan moves the window, and keeps the cursor inside it.
func (p *Page) pan(share float64) {
	p.window = p.axis().pan(p.window, share)
	at := p.Scene.Cursor()
	p.Scene.Move(min(max(at, p.window.from), p.window.to-1))
	p.follow = p.Scene.Cursor()
}

// step moves the cursor by one column, or by one event where a column shows
// no more than that.
func (p *Page) step(direction int) {
	at := p.Scene.Cursor()
	if p.chart == nil || len(p.chart.Columns) == 0 {
		p.Scene.Move(at + direction)
		return
	}
	columns := p.chart.Columns
	if at < p.charted.window.from || at >= p.charted.window.to || p.window.to-p.window.from <= len(columns) {
		p.Scene.Move(at + direction)
		return
	}
	next := at
	for c := columnOf(columns, at) + direction; c >= 0 && c < len(columns); c += direction {
		if next = columns[c].At; (next-at)*direction > 0 {
			break
		}
	}
	if (next-at)*direction <= 0 {
		next = at + direction
	}
	p.Scene.Move(next)
}

// toMark goes to the nearest end of an annotation in a direction.
func (p *Page) toMark(direction int) tea.Cmd {
	marks, at := p.Scene.Marks, p.Scene.Cursor()
	if len(marks) == 0 {
		return page.Say("no annotations in this trace")
	}
	found := -1
	for i := range marks {
		event := min(marks[i].Event, p.Scene.Last())
		if direction > 0 && event > at {
			found = event
			break
		}
		if direction < 0 && event < at {
			found = event
		}
	}
	if found >= 0 {
		p.Scene.Move(found)
	}
	return nil
}
