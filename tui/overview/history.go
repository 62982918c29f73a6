package overview

import (
	"github.com/memtop/memtop/tui/screen"
)

// history returns the chart of live and reserved memory over all events.
func (p *Page) history(rows int) section {
	f, ok := p.asked.Answer()
	if !p.Scene.Index.History() {
		return section{2, func(c screen.Canvas) {
			c.Rule(0, "History", "", false)
			c.Fit(1, 1, c.Width()-2, "The file holds one state and no history: the timeline and the events have nothing to show.", screen.Dim)
		}}
	}
	return section{rows + 2, func(c screen.Canvas) {
		c.Rule(0, "History", "█ live  ░ reserved", false)
		if !ok || f.history.MaxReserved == 0 && f.history.Max == 0 {
			return
		}
		p.drawHistory(c, &f, rows)
		if p.Scene.Growing() {
			drawSeconds(c, rows+1, len(f.history.Columns))
		} else {
			p.drawAxis(c, rows+1)
		}
	}}
}

// rowSteps are the eighths of a row, from empty to full.
var rowSteps = [...]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

func (p *Page) drawHistory(c screen.Canvas, f *facts, rows int) {
	top := float64(max(f.history.Max, f.history.MaxReserved))
	for x := range f.history.Columns {
		column := &f.history.Columns[x]
		live := int(float64(column.Total)/top*float64(rows*8) + 0.5)
		reserved := int(float64(column.Reserved)/top*float64(rows) + 0.5)
		for y := range rows {
			step := min(max(live-8*y, 0), 8)
			switch {
			case step > 0:
				c.Set(1+x, rows-y, rowSteps[step], screen.Style{Fg: screen.Band0})
			case y < reserved:
				c.Set(1+x, rows-y, '░', screen.Dim)
			}
		}
	}
}

// drawSeconds writes how long ago each column was.
func drawSeconds(c screen.Canvas, y, columns int) {
	const span = liveSpan / 1_000_000
	const now = "▲ now"
	x := columns // of the newest
	if x+screen.Width(now) > c.Width() {
		c.Right(0, y, x+1, "now ▲", screen.Style{Fg: screen.Accent})
	} else {
		c.Text(x, y, now, screen.Style{Fg: screen.Accent})
	}
	if long := columns * span; columns > 10 {
		c.Text(1, y, "-"+screen.Count(long)+" s", screen.Dim)
	}
}

// drawAxis marks the peak and the cursor under the chart.
func (p *Page) drawAxis(c screen.Canvas, y int) {
	w, n := c.Width()-2, p.Scene.Last()+1
	at := func(event int) int { return 1 + min(max(event, 0)*w/max(n, 1), w-1) }
	c.Text(1, y, "0", screen.Dim)
	c.Right(1, y, w, screen.Plural(n, "event"), screen.Dim)
	peak := at(p.Scene.Summary.PeakEvent)
	label := "▲ peak " + screen.Bytes(p.Scene.Summary.PeakRequested)
	if room := w - screen.Width(screen.Count(n)) - 10; peak+screen.Width(label) > room {
		label = "peak " + screen.Bytes(p.Scene.Summary.PeakRequested) + " ▲"
		peak -= screen.Width(label) - 1
	}
	for i := range c.Width() - 2 {
		if i >= peak-2 && i < peak+screen.Width(label)+1 {
			c.Set(i+1, y, ' ', screen.Plain)
		}
	}
	c.Text(peak, y, label, screen.Style{Fg: screen.Accent})
}
