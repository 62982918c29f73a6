package timeline

import (
	"sort"

	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// rulerRows is how many rows of annotations are under the plot.
func (p *Page) rulerRows(chart int) int {
	deepest := 0
	for i := range p.Scene.Ranges {
		deepest = max(deepest, p.Scene.Ranges[i].Depth+1)
	}
	if len(p.Scene.Steps) > 0 && deepest == 0 {
		deepest = 1
	}
	return min(deepest, max((chart-6)/4, 0), 3)
}

// drawRuler draws the ranges that the program named, one row per depth.
func (p *Page) drawRuler(c screen.Canvas, s *shape) {
	ruler := c.Sub(s.ruler)
	if ruler.Height() == 0 {
		return
	}
	if len(p.Scene.Ranges) == 0 {
		p.drawSteps(ruler)
		return
	}
	for i := range p.Scene.Ranges {
		if r := &p.Scene.Ranges[i]; r.Depth < ruler.Height() {
			p.drawRange(ruler, r.Depth, r.From, r.To, r.Name)
		}
	}
	for i := range p.Scene.Ranges {
		if r := &p.Scene.Ranges[i]; r.Depth < ruler.Height() {
			p.nameBeside(ruler, r.Depth, r.From, r.To, r.Name)
		}
	}
}

// drawSteps draws the steps that are in the window. If they are too narrow for
// names, groups of them share the name of the first.
func (p *Page) drawSteps(c screen.Canvas) {
	const room = 12 // cells that a name needs
	steps, w := p.Scene.Steps, p.charted.window
	first := sort.Search(len(steps), func(k int) bool { return steps[k].To > w.from })
	last := sort.Search(len(steps), func(k int) bool { return steps[k].From >= w.to })
	if first >= last {
		return
	}
	together := 1
	for _, next := range [...]int{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000} {
		if (last-first)*room <= together*max(len(p.chart.Columns), 1) {
			break
		}
		together = next
	}
	for k := first; k < last; {
		next := min(k+together-k%together, last)
		p.drawRange(c, 0, steps[k].From, steps[next-1].To, steps[k].Name)
		k = next
	}
}

// nameBeside writes the name of a range that is too narrow for it after the
// range, if nothing is there.
func (p *Page) nameBeside(c screen.Canvas, y, from, to int, name string) {
	w := p.charted.window
	if from < w.from || to > w.to || len(p.chart.Columns) == 0 {
		return
	}
	first, last := columnOf(p.chart.Columns, from), columnOf(p.chart.Columns, max(to-1, from))
	if last-first-3 >= 3 {
		return
	}
	for n := screen.Width(name) + 2; n > 0; n-- {
		if c.Rune(last+n, y) != ' ' {
			return
		}
	}
	c.Text(last+2, y, name, screen.Style{Fg: screen.Accent})
}

// drawRange draws one range with as much of its name as fits.
func (p *Page) drawRange(c screen.Canvas, y, from, to int, name string) {
	w := p.charted.window
	if to <= w.from || from >= w.to || len(p.chart.Columns) == 0 {
		return
	}
	first, last := columnOf(p.chart.Columns, max(from, w.from)), columnOf(p.chart.Columns, min(to, w.to)-1)
	for x := first; x <= last; x++ {
		c.Set(x, y, '─', screen.Dim)
	}
	if from >= w.from {
		c.Set(first, y, '├', screen.Dim)
	}
	if to <= w.to && last > first {
		c.Set(last, y, '┤', screen.Dim)
	}
	if room := last - first - 3; room >= 3 {
		c.Middle(first+2, y, room, screen.Truncate(name, room-1), screen.Style{Fg: screen.Accent})
	}
}

// drawAxis writes where the window begins and ends.
func (p *Page) drawAxis(c screen.Canvas, s *shape) {
	w := p.charted.window
	if w.to <= w.from {
		return
	}
	x0, room := s.axis.X, s.axis.W
	x, label := p.cursorLabel(x0, room)
	end := x + screen.Width(label)
	if left := p.moment(w.from); x0+screen.Width(left) < x {
		c.Text(x0, s.axis.Y, left, screen.Dim)
	}
	if right := p.moment(w.to - 1); end < x0+room-screen.Width(right) {
		c.Right(x0, s.axis.Y, room, right, screen.Dim)
	}
	c.Text(x, s.axis.Y, label, screen.Title)
}

// cursorLabel returns the pointer to the cursor with its moment, on the side
// where there is room, and where it begins.
func (p *Page) cursorLabel(x0, room int) (int, string) {
	at := p.Scene.Cursor()
	moment := p.moment(at)
	if at < 0 {
		moment = "before the first event"
	}
	x := x0 + p.cursorColumn()
	if label := "▲ " + moment; x+screen.Width(label) <= x0+room {
		return x, label
	}
	label := moment + " ▲"
	return x - screen.Width(label) + 1, label
}

// moment writes an event as the axis counts: its number or its time.
func (p *Page) moment(event int) string {
	if us, ok := p.Scene.Since(event); ok && p.charted.time {
		return "+" + screen.Micros(us)
	}
	return screen.Count(max(event, 0))
}

// cursorColumn returns the cursor's column of the plot.
func (p *Page) cursorColumn() int {
	at := p.Scene.Cursor()
	if at < p.charted.window.from || len(p.chart.Columns) == 0 {
		return 0
	}
	return columnOf(p.chart.Columns, at)
}

// drawMarkers points at the peak and at out-of-memory events, above the plot.
func (p *Page) drawMarkers(c screen.Canvas, s *shape) {
	y := s.plot.Y - 1
	if peak := p.Scene.Summary.PeakEvent; p.inWindow(peak) {
		p.marker(c, s, y, peak, '▼', p.peakLabel(), screen.Style{Fg: screen.Accent})
	}
	for i := range p.Scene.OOMs {
		if at := p.Scene.OOMs[i].Event; p.inWindow(at) {
			p.marker(c, s, y, at, '✗', "out of memory", screen.Bad)
		}
	}
}

// drawGaps shades where events are missing, and says how many.
func (p *Page) drawGaps(c screen.Canvas, s *shape) {
	for _, g := range p.Scene.Gaps() {
		if max(g.To, g.From+1) <= p.charted.window.from || g.From >= p.charted.window.to || len(p.chart.Columns) == 0 {
			continue
		}
		first, last := columnOf(p.chart.Columns, g.From), columnOf(p.chart.Columns, max(g.To-1, g.From))
		for x := first; x <= last; x++ {
			for y := range s.plot.H {
				if r := c.Rune(s.plot.X+x, s.plot.Y+y); r == ' ' || r == '─' {
					c.Set(s.plot.X+x, s.plot.Y+y, '░', screen.Warn)
				}
			}
		}
		p.marker(c, s, s.plot.Y-1, g.From, '░', page.GapText(&g), screen.Warn)
	}
}

// drawChanges points at the events where a setting changed.
func (p *Page) drawChanges(c screen.Canvas, s *shape) {
	marks, w := p.Scene.Marks, p.charted.window
	for k := sort.Search(len(marks), func(k int) bool { return marks[k].Event >= w.from }); k < len(marks) && marks[k].Event < w.to; k++ {
		if marks[k].Setting && len(p.chart.Columns) > 0 {
			p.marker(c, s, s.plot.Y-1, marks[k].Event, '◆', marks[k].Name, screen.Title)
		}
	}
}

func (p *Page) peakLabel() string {
	return "peak " + screen.Bytes(p.Scene.Summary.PeakRequested)
}

func (p *Page) inWindow(event int) bool {
	return event >= p.charted.window.from && event < p.charted.window.to && len(p.chart.Columns) > 0
}

// marker draws a pointer with a label on whichever side there is room.
func (p *Page) marker(c screen.Canvas, s *shape, y, event int, r rune, label string, style screen.Style) {
	x, w := s.plot.X+columnOf(p.chart.Columns, event), screen.Width(label)
	for _, from := range [...]int{x + 2, x - 1 - w} {
		free := from >= s.plot.X && from+w <= s.plot.X+s.plot.W
		for i := -1; i <= w; i++ {
			free = free && c.Rune(from+i, y) == ' '
		}
		if free {
			c.Text(from, y, label, style)
			break
		}
	}
	c.Set(x, y, r, style)
}

// drawCursor draws the line at the cursor through the plot.
func (p *Page) drawCursor(c screen.Canvas, s *shape, part *plot) {
	at := p.Scene.Cursor()
	if at >= p.charted.window.to || at < p.charted.window.from && at >= 0 || len(p.chart.Columns) == 0 {
		return
	}
	x := s.plot.X + p.cursorColumn()
	for y := s.plot.Y; y < s.plot.Y+s.plot.H; y++ {
		if part.canvas.Theme().Letters() && c.Rune(x, y) != ' ' && c.Rune(x, y) != '─' {
			c.Restyle(x, y, 1, func(st screen.Style) screen.Style { return screen.Style{Fg: st.Fg, Attr: st.Attr | screen.Reverse} })
			continue
		}
		if c.Rune(x, y) == '█' {
			c.Restyle(x, y, 1, func(st screen.Style) screen.Style { return screen.Style{Fg: screen.OnBand, Bg: st.Fg} })
		}
		c.Set(x, y, '│', p.lineStyle(c, x, y))
	}
}

// lineStyle keeps a band's colour behind the cursor's line.
func (p *Page) lineStyle(c screen.Canvas, x, y int) screen.Style {
	style := screen.Title
	c.Restyle(x, y, 1, func(st screen.Style) screen.Style {
		if st.Bg != screen.Default {
			style = screen.Style{Fg: screen.OnBand, Bg: st.Bg, Attr: screen.Bold}
		}
		return st
	})
	return style
}
