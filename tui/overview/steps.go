package overview

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/tui/screen"
)

// steps returns the chart of the peak of each step over the whole run: of more
// steps than columns the highest of those that share one.
func (p *Page) steps() section {
	const rows = 4
	f, ok := p.asked.Answer()
	if !ok || len(f.peaks) < 2 {
		return section{}
	}
	return section{rows + 2, func(c screen.Canvas) {
		title := "Peak by step"
		if f.inferred != iteration.None {
			title += ", inferred from " + f.inferred.String()
		}
		lowest, highest := extremes(f.peaks)
		c.Rule(0, title, screen.Bytes(lowest.Bytes)+" to "+screen.Bytes(highest.Bytes), false)
		w := c.Width() - 2
		columns := stepColumns(f.peaks, w)
		for x, bytes := range columns {
			p.drawStep(c, x, rows, float64(bytes)/float64(max(highest.Bytes, 1)))
		}
		drawStepAxis(c, rows+1, f.peaks, highest)
	}}
}

// drawStep draws a step's peak as a part of the highest, bottom up.
func (p *Page) drawStep(c screen.Canvas, x, rows int, part float64) {
	eighths := max(int(part*float64(rows*8)+0.5), 1)
	for y := range rows {
		if full := min(max(eighths-8*y, 0), 8); full > 0 {
			c.Set(1+x, rows-y, rowSteps[full], screen.Style{Fg: screen.Band0})
		}
	}
}

// drawStepAxis names the first, the last and the highest step.
func drawStepAxis(c screen.Canvas, y int, peaks []analysis.StepPeak, highest analysis.StepPeak) {
	first, last := screen.Count(int(peaks[0].Number)), screen.Count(int(peaks[len(peaks)-1].Number))
	x := c.Text(1, y, "step "+first, screen.Dim)
	c.Right(1, y, c.Width()-2, last, screen.Dim)
	c.Fit(x+2, y, c.Width()-x-5-screen.Width(last), "highest in step "+screen.Count(int(highest.Number)), screen.Style{Fg: screen.Accent})
}

// extremes returns the first of the lowest and of the highest peaks.
func extremes(peaks []analysis.StepPeak) (lowest, highest analysis.StepPeak) {
	byBytes := func(a, b analysis.StepPeak) int { return cmp.Compare(a.Bytes, b.Bytes) }
	return slices.MinFunc(peaks, byBytes), slices.MaxFunc(peaks, byBytes)
}

// stepColumns spreads steps over at most w columns, a few over several each.
func stepColumns(peaks []analysis.StepPeak, w int) []int64 {
	const widest = 6
	n := min(w, widest*len(peaks))
	columns := make([]int64, n)
	for i, s := range peaks {
		from, to := i*n/len(peaks), max((i+1)*n/len(peaks), i*n/len(peaks)+1)
		for x := from; x < to; x++ {
			columns[x] = max(columns[x], s.Bytes)
		}
	}
	return columns
}
