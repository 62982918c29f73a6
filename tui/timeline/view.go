package timeline

import "github.com/memtop/memtop/tui/screen"

// layout says which parts are shown.
type layout uint8

const (
	chartAndLists layout = iota
	chartAlone
	listsAlone
	layouts
)

// shape is the places of the parts. Chart is everything that belongs to the
// chart, plot the bands themselves.
type shape struct {
	chart, plot, ruler, axis screen.Rect
	told                     screen.Rect // describes the selected band of allocations
	left, right              screen.Rect
}

// labels is the width of the sizes beside the plot.
const labels = screen.BytesWidth + 1

func (p *Page) newShape(w, h int) shape {
	var s shape
	all := screen.Rect{W: w, H: h}
	lists := all
	switch p.layout {
	case chartAndLists:
		s.chart, lists = all.Top(h - listRows(h))
	case chartAlone:
		s.chart, lists = all, screen.Rect{}
	case listsAlone, layouts:
	}
	if s.chart.H > 0 {
		inner := screen.Rect{X: labels, Y: s.chart.Y + 2, W: w - labels - 1, H: s.chart.H - 2}
		if p.by == byAllocation {
			inner, s.told = inner.Bottom(1)
			s.told.X, s.told.W = 0, w
		}
		inner, s.axis = inner.Bottom(1)
		s.plot, s.ruler = inner.Bottom(p.rulerRows(s.chart.H))
	}
	switch {
	case w >= 100:
		s.left, s.right = lists.Left(max(w*2/5, 54))
	case p.drill.onRight:
		s.right = lists
	default:
		s.left = lists
	}
	return s
}

// listRows is how many rows the lists under the chart take.
func listRows(h int) int {
	switch {
	case h < 20:
		return max(h/3, 4)
	case h < 30:
		return 9
	default:
		return min(h*2/5, 20)
	}
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	s := p.newShape(w, h)
	if s.chart.H > 0 {
		p.drawChart(c, &s)
	}
	p.drawLeft(c.Sub(s.left))
	if s.right.W > 0 {
		p.drawRight(c.Sub(s.right))
	}
	return c.String()
}

// Lacks says what a file with only one state lacks.
func (p *Page) Lacks() string { return p.Scene.LacksHistory() }

func (p *Page) drawChart(c screen.Canvas, s *shape) {
	c.Rule(s.chart.Y, p.title(), p.titleRight(c.Width()-8-screen.Width(p.title())), false)
	if p.chart == nil {
		c.Middle(0, s.plot.Y+s.plot.H/2, c.Width(), "drawing …", screen.Dim)
		return
	}
	part := p.newPlot(c.Sub(s.plot))
	part.draw()
	part.label()
	p.drawReserved(c, s, &part)
	p.drawScale(c, s, &part)
	p.drawRuler(c, s)
	p.drawAxis(c, s)
	p.drawBand(c.Sub(s.told))
	p.drawGaps(c, s)
	p.drawChanges(c, s)
	p.drawMarkers(c, s)
	p.drawCursor(c, s, &part)
}

func (p *Page) newPlot(c screen.Canvas) plot {
	by := p.charted.by
	part := plot{canvas: c, chart: p.chart, dim: noBand, base: p.base(), top: p.top()}
	for i := range p.chart.Bands {
		b := &p.chart.Bands[i]
		part.roles = append(part.roles, bandRole(b, i, by))
		part.letters = append(part.letters, bandLetter(b, i, by))
	}
	if g := p.drill.selected(); g != nil && !g.all && p.drill.step == inAll {
		part.dim = g.band
	}
	return part
}

// top is the level at the upper edge of the plot: the reserved bytes, unless live
// memory would then look flat.
func (p *Page) top() int64 {
	if p.reserved && !p.fit && !p.reservedAbove() {
		return max(p.chart.Max, p.chart.MaxReserved, 1)
	}
	return max(p.chart.Max, 1)
}

// reservedAbove reports whether the reserved level is left out above the plot.
func (p *Page) reservedAbove() bool {
	return p.reserved && !p.fit && p.chart != nil && p.chart.MaxReserved/2 > p.chart.Max
}

// base is the level at the lower edge of the plot: zero, or when fitted a little
// below the lowest column, so that the changes fill the plot.
func (p *Page) base() int64 {
	if !p.fit || p.chart == nil || len(p.chart.Columns) == 0 {
		return 0
	}
	lowest := p.chart.Max
	for i := range p.chart.Columns {
		lowest = min(lowest, p.chart.Columns[i].Total)
	}
	return max(lowest-(p.chart.Max-lowest)/8-1, 0)
}

func (p *Page) title() string {
	what := [...]string{
		byCategory: "Live memory by category", byAllocation: "Live memory by allocation",
	}[p.charted.by]
	if p.charted.by == byCategory && p.Scene.Index.Guessed() {
		what += " (guessed)"
	}
	return what
}

// titleRight says, within a number of cells, which part of the trace is shown
// and, if there is room, how.
func (p *Page) titleRight(room int) string {
	w, n := p.window, p.Scene.Last()+1
	text := "all " + screen.Plural(n, "event")
	if w.from > 0 || w.to < n {
		text = "events " + screen.Count(w.from) + "–" + screen.Count(max(min(w.to, n)-1, 0)) + " of " + screen.Count(n)
	}
	if p.axis().time {
		text += " by time"
	}
	if step := p.Scene.Behind(); step > 0 {
		text += ", to step " + screen.Count(int(step))
	}
	if !p.charts.Fresh() {
		text = "… " + text
	}
	how := ""
	switch {
	case p.fit:
		how = "y from " + screen.Bytes(p.base()) + " · "
	case p.reservedAbove():
		how = "reserved " + screen.Bytes(p.chart.MaxReserved) + " above · "
	}
	if screen.Width(how+text) > room {
		return text
	}
	return how + text
}

// drawReserved draws the reserved level where it is above the bands.
func (p *Page) drawReserved(c screen.Canvas, s *shape, part *plot) {
	if !p.reserved || p.fit {
		return
	}
	for x := range p.chart.Columns {
		row := s.plot.H - 1 - max(part.level(p.chart.Columns[x].Reserved)-1, 0)/8
		if row >= 0 && c.Rune(s.plot.X+x, s.plot.Y+row) == ' ' {
			c.Set(s.plot.X+x, s.plot.Y+row, '─', screen.Style{Fg: screen.Warning})
		}
	}
}

// drawScale writes the levels of the plot's rows.
func (p *Page) drawScale(c screen.Canvas, s *shape, part *plot) {
	steps := max(s.plot.H/4, 1)
	for i := range steps + 1 {
		row := i * (s.plot.H - 1) / steps
		bytes := part.base + int64(float64(part.top-part.base)*float64(s.plot.H-row)/float64(s.plot.H))
		if i == steps {
			bytes = part.base
		}
		c.Right(0, s.plot.Y+row, labels-1, screen.Bytes(bytes), screen.Dim)
	}
}
