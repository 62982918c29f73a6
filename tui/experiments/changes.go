package experiments

import (
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// columns are the columns of the list of changes.
func columns() []page.Column[*analysis.Experiment] {
	type change = *analysis.Experiment
	return []page.Column[change]{
		{Head: "change", Rest: page.All, Left: true, Text: func(e change) string { return changeText(e) }},
		{Head: "state", Width: page.Cells(14), Left: true, Text: func(e change) string { return stateText(e) }, Style: stateStyle},
		effect("peak", page.Cells(10), analysis.PeakAllocatedQuantity, measuredText),
		effect("predicted", page.From(66, 10), analysis.PeakAllocatedQuantity, predictedText),
		effect("step time", page.From(77, 13), analysis.StepTimeQuantity, shareText),
		effect("error", page.From(87, 6), analysis.PeakAllocatedQuantity, errorText),
		effect("activations", page.From(99, 11), analysis.ActivationQuantity, measuredText),
		effect("reserved", page.From(110, 10), analysis.ReservedQuantity, measuredText),
		effect("tokens/s", page.From(120, 9), analysis.TokenRateQuantity, measuredText),
	}
}

// effect is a column for one side of an effect. A refused change shows its reason
// instead.
func effect(head string, width func(int) int, q analysis.Quantity, text func(*analysis.Effect) string) page.Column[*analysis.Experiment] {
	return page.Column[*analysis.Experiment]{
		Head: head, Width: width,
		Text: func(e *analysis.Experiment) string { return text(&e.Effects[q]) },
		Over: func(e *analysis.Experiment) string {
			if e.State != trace.Refused {
				return ""
			}
			return e.Reason
		},
	}
}

func (p *Page) drawChanges(c screen.Canvas, beside bool) {
	c = page.Aside(c, beside)
	c.Rule(0, p.changesTitle(), "", p.focus == changes)
	if p.table.Count == 0 {
		c.Fit(1, 1, c.Width()-2, p.nothing(), screen.Dim)
		return
	}
	p.table.Draw(c.Sub(screen.Rect{Y: 1, W: c.Width(), H: c.Height() - 1}))
}

// nothing explains how to make an experiment.
func (p *Page) nothing() string {
	if p.fixed() != "" {
		return "No setting was changed."
	}
	return "No setting was changed yet. C A O change the usual ones, enter any."
}

func (p *Page) changesTitle() string {
	if p.table.Count == 0 {
		return "Changes"
	}
	return screen.Plural(p.table.Count, "change") + ", the newest first"
}

func changeText(e *analysis.Experiment) string {
	if e.Once {
		return e.Key + " " + e.To
	}
	return e.Key + " " + e.From + " → " + e.To
}

func (p *Page) drawDetail(c screen.Canvas, beside bool) {
	if c.Height() == 0 {
		return
	}
	c = page.Aside(c, beside)
	e := p.current()
	if e == nil {
		c.Rule(0, "Experiment", "", false)
		return
	}
	lines := p.detailLines()
	c.Rule(0, lines[0].Text, "", false)
	p.Detail.Draw(c, 1, lines[1:])
}

// detailLines is the whole of the selected experiment, its title first.
func (p *Page) detailLines() []page.Line {
	e := p.current()
	if e == nil {
		return nil
	}
	lines := []page.Line{page.Heading(changeText(e) + ", " + stateSentence(e, p.fixed() == ""))}
	if e.State == trace.Refused {
		return append(lines, page.Sentence("because", e.Reason)...)
	}
	w := p.shape.detail.W
	lines = append(lines, page.Line{Text: row(w, "", "predicted", "measured", "", "error", "before", "after", "spread"), Style: screen.Dim})
	for q := range e.Effects {
		lines = append(lines, effectLine(&e.Effects[q], w))
	}
	for _, with := range e.Overlaps {
		lines = append(lines, page.Line{Text: "measured together with " + with + ": their effects cannot be told apart", Style: screen.Warn})
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
	}
	if f.Measured {
		spread = "±" + Amount(f.Quantity, f.Spread)
	}
	name := names[f.Quantity]
	if f.Quantity == analysis.ReservedQuantity && f.Foretold {
		name = "reserved after" // the step, not at its highest moment
	}
	return page.Line{Text: row(w, name, predictedText(f), measuredText(f), percentText(f, f.Delta), errorText(f), before, after, spread)}
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
