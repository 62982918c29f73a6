package timeline

import (
	"sort"

	"github.com/memtop/memtop/tui/page"
)

// # Following
//
// While the cursor follows the end of a running program, the window ends at or
// after the last event, and its columns lie on a grid: each has the same number
// of events, one of a few numbers, and begins at a multiple of it. So a full
// column does not change, only the newest one does, and when the last is full the
// window moves on by a quarter of its width. A chart that moved with every event
// would be redrawn completely many times a second, and would be unreadable.

// following is how the window follows the end.
type following struct {
	every  int  // events of a column, 0 when the window is not on a grid
	span   int  // the least number of visible events, 0 for all until there are many
	whole  bool // all of them
	chosen bool // the user chose the window
}

// The first window of a running program: its last steps, or without steps some
// time, in microseconds.
const (
	firstSteps = 3
	firstSpan  = 20_000_000
)

// onGrid reports whether the window moves on the grid. Columns of time are
// divided again instead.
func (p *Page) onGrid() bool {
	return p.Scene.Following && !p.axis().time
}

// goAlong moves the window to the current end.
func (p *Page) goAlong(columns int) {
	f, n := &p.following, p.Scene.Events().Len()
	if columns <= 0 || n == 0 {
		return
	}
	if !f.chosen {
		f.begin(p.Scene)
	}
	span := max(f.span, narrowest)
	if f.whole || f.span == 0 {
		span = n
	}
	every := 1
	for every*columns < span {
		every = max(every*3/2, every+1)
		if every*columns < span {
			every = every * 4 / 3
		}
	}
	w, wide := p.window, every*columns
	if f.every == every && w.to-w.from == wide && w.from%every == 0 && w.from < n && n <= w.to {
		return
	}
	f.every = every
	end := (n + every - 1) / every * every
	from := 0
	if !f.whole && f.span > 0 {
		from = max(end-wide+wide/4/every*every, 0)
	}
	p.window = window{from, from + wide}
}

// begin chooses the span of the last steps, also when they get longer. Without
// steps it is the span of the last seconds, once there are enough. A quarter of
// the window may be empty, so it is a third wider than the visible span.
func (f *following) begin(s *page.Scene) {
	n, now := s.Events().Len(), s.Clock()
	time := func(i int) int64 { return s.Events().At(i).Time }
	switch ended := s.Steps[:max(len(s.Steps)-1, 0)]; { // the last may not have ended
	case len(ended) >= firstSteps:
		f.span = (ended[len(ended)-1].To - ended[len(ended)-firstSteps].From) * 4 / 3
	case len(s.Steps) == 0 && f.span == 0 && time(0) < now-firstSpan:
		f.span = max(n-sort.Search(n, func(i int) bool { return time(i) >= now-firstSpan }), narrowest)
	}
}

// chosen notes that the user chose a window. The grid then follows it.
func (p *Page) chosen() {
	p.following = following{chosen: true, span: max(min(p.window.to, p.Scene.Last()+1)-p.window.from, narrowest), whole: p.window == p.axis().whole()}
}
