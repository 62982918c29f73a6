package experiments

import (
	"strings"
	"time"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// column is one column of the list of changes.
type column struct {
	head  string
	width int
	text  func(e *analysis.Experiment) string
}

// effect makes a column of one side of an effect.
func effect(head string, width int, q analysis.Quantity, text func(*analysis.Effect) string) column {
	return column{head, width, func(e *analysis.Experiment) string { return text(&e.Effects[q]) }}
}

// The columns before those of effects: the change and its state.
const (
	stateWidth  = 14
	changeWidth = 27 // at least
)

// columns returns the effects that fit into w cells.
func columns(w int) []column {
	all := []column{
		effect("peak", 10, analysis.PeakAllocatedQuantity, measuredText),
		effect("predicted", 10, analysis.PeakAllocatedQuantity, predictedText),
		effect("step time", 10, analysis.StepTimeQuantity, measuredText),
		effect("error", 6, analysis.PeakAllocatedQuantity, errorText),
		effect("activations", 11, analysis.ActivationQuantity, measuredText),
		effect("reserved", 10, analysis.ReservedQuantity, measuredText),
		effect("tokens/s", 9, analysis.TokenRateQuantity, measuredText),
		effect("loss", 8, analysis.LossQuantity, measuredText),
	}
	left := w - 1 - changeWidth - 1 - stateWidth
	for i, col := range all {
		if left -= col.width + 1; left < 0 {
			return all[:i]
		}
	}
	return all
}

func (p *Page) drawChanges(c screen.Canvas, beside bool) {
	c = aside(c, beside)
	c.Rule(0, p.changesTitle(), "", p.focus == changes)
	all := columns(c.Width() - 1)
	room := c.Width() - 3 - stateWidth
	for _, col := range all {
		room -= col.width + 1
	}
	if len(p.rows) > 0 {
		drawHeads(c, all, room)
	}
	list := *p.list(changes)
	from, to := list.Visible()
	for i := from; i < min(to, len(p.rows)) && i-from < c.Height()-2; i++ {
		y := 2 + i - from
		drawChange(c, y, &p.rows[i], all, room)
		if i == list.Cursor {
			mark(c, y, p.focus == changes)
		}
	}
	if len(p.rows) == 0 {
		c.Fit(1, 1, c.Width()-2, p.nothing(), screen.Dim)
	}
	list.Scrollbar(c, c.Width()-1, 2)
}

// nothing says how to get an experiment.
func (p *Page) nothing() string {
	if p.fixed() != "" {
		return "No setting was changed."
	}
	return "No setting was changed yet. C A O change the usual ones, enter any."
}

func (p *Page) changesTitle() string {
	if len(p.rows) == 0 {
		return "Changes"
	}
	return screen.Plural(len(p.rows), "change") + ", the newest first"
}

func drawHeads(c screen.Canvas, all []column, room int) {
	c.Text(1, 1, "change", screen.Dim)
	c.Text(2+room, 1, "state", screen.Dim)
	x := 3 + room + stateWidth
	for _, col := range all {
		c.Right(x, 1, col.width, col.head, screen.Dim)
		x += col.width + 1
	}
}

func drawChange(c screen.Canvas, y int, e *analysis.Experiment, all []column, room int) {
	c.Fit(1, y, room, changeText(&e.Change), screen.Plain)
	text, style := stateText(e)
	c.Fit(2+room, y, stateWidth, text, style)
	x := 3 + room + stateWidth
	if e.State == trace.Refused {
		c.Fit(x, y, c.Width()-x-1, e.Reason, screen.Dim)
		return
	}
	for _, col := range all {
		c.Right(x, y, col.width, col.text(e), screen.Plain)
		x += col.width + 1
	}
}

func changeText(c *trace.Change) string { return c.Key + " " + c.From + " → " + c.To }

// aside draws a line at the left and returns what is beside it.
func aside(c screen.Canvas, beside bool) screen.Canvas {
	if !beside {
		return c
	}
	for y := range c.Height() {
		c.Set(0, y, '│', screen.Dim)
	}
	return c.Sub(screen.Rect{X: 1, W: c.Width() - 1, H: c.Height()})
}

func (p *Page) drawDetail(c screen.Canvas, beside bool) {
	if c.Height() == 0 {
		return
	}
	c = aside(c, beside)
	e := p.current()
	if e == nil {
		c.Rule(0, "Experiment", "", false)
		return
	}
	lines := p.detailLines()
	c.Rule(0, lines[0].Text, "", false)
	reader := p.detail
	reader.Draw(c, 1, lines[1:])
}

// detailLines is the whole of the selected experiment, its title first.
func (p *Page) detailLines() []page.Line {
	e := p.current()
	if e == nil {
		return nil
	}
	lines := []page.Line{page.Heading(changeText(&e.Change) + ", " + stateSentence(e, p.fixed() == ""))}
	if e.State == trace.Refused {
		return append(lines, page.Sentence("because", e.Reason)...)
	}
	w := p.shape.detail.W
	lines = append(lines, page.Line{Text: row(w, "", "predicted", "measured", "", "error", "before", "after", "spread"), Style: screen.Dim})
	for q := range e.Effects {
		lines = append(lines, effectLine(&e.Effects[q], w))
	}
	for _, with := range e.Overlaps {
		lines = append(lines, page.Line{Text: "measured together with " + with + ": nobody can tell the two apart", Style: screen.Warn})
	}
	if e.Time > 0 && p.shape.detail.H > detailRows {
		lines = append(lines, page.Line{Text: "asked for at " + time.UnixMicro(e.Time).UTC().Format("15:04:05 UTC"), Style: screen.Dim})
	}
	return lines
}

func effectLine(f *analysis.Effect, w int) page.Line {
	before, after, spread := "", "", ""
	if f.Before.Steps > 0 {
		before = Amount(f.Quantity, f.Before.Median)
	}
	if f.After.Steps > 0 {
		after = Amount(f.Quantity, f.After.Median)
		spread = "±" + Amount(f.Quantity, (f.After.High-f.After.Low)/2)
	}
	return page.Line{Text: row(w, names[f.Quantity], predictedText(f), measuredText(f), shareText(f), errorText(f), before, after, spread)}
}

// The widths from which a row has the level before and the spread, and the
// change in per cent as well.
const (
	fullDetail = 78
	wideDetail = 92
)

// row lines a quantity up with the others.
func row(w int, name, predicted, measured, share, err, before, after, spread string) string {
	text := pad(name, 14, false) + pad(predicted, 10, true) + pad(measured, 11, true)
	if w >= wideDetail {
		text += pad(share, 8, true)
	}
	text += pad(err, 8, true)
	if w < fullDetail {
		return text + pad(after, 11, true)
	}
	return text + pad(before, 11, true) + pad(after, 11, true) + pad(spread, 11, true)
}

func pad(s string, w int, right bool) string {
	s = screen.Truncate(s, w)
	fill := strings.Repeat(" ", max(w-screen.Width(s), 0))
	if right {
		return fill + s
	}
	return s + fill
}
