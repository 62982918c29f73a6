package overview

import (
	"context"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"

	tea "charm.land/bubbletea/v2"
)

// account explains how memory ran out, with sentences.
type account struct {
	*analysis.Failure
	facts []analysis.Fact
}

func newAccount(x *analysis.Index, event int) *account {
	f := analysis.FailureAt(x, event)
	return &account{f, f.Facts(x.StackName)}
}

// failed returns the account of the shown moment, nil if memory did not run out
// then.
func (p *Page) failed() *account {
	answer, _ := p.asked.Answer()
	return answer.failure
}

// failureSections are the parts of a page about the moment when memory ran out:
// the request and why it failed, what would have made room, and the holders of
// the rest.
func (p *Page) failureSections(f frame, a *account) (l, r []section) {
	l = p.failureFirst(f, a)
	below := []section{p.findings(f.left, f.findingRows()), p.gauges(), p.settings()}
	if f.right > 0 {
		return append(l, below...), []section{p.holding(a, f.right, f.h), p.history(8), p.pools(), p.graphs(), p.pinned(), p.source()}
	}
	return append(append(l, below...), p.pools(), p.graphs(), p.pinned(), p.source()), nil
}

// failureFirst are the parts above the findings.
func (p *Page) failureFirst(f frame, a *account) []section {
	above := []section{p.devices(f.left), p.refused(a, f.left), p.wouldFit(a)}
	if f.right == 0 {
		above = append(above, p.holding(a, f.left, f.h))
	}
	return above
}

// aboveFindings is how many rows are above the findings.
func (p *Page) aboveFindings(f frame) int {
	above := []section{p.devices(f.left)}
	if a := p.failed(); a != nil {
		above = p.failureFirst(f, a)
	}
	rows := 0
	for _, s := range above {
		if s.rows > 0 {
			rows += s.rows + f.gap()
		}
	}
	return rows
}

var factStyle = map[string]screen.Style{"asked": screen.Strong, "short by": screen.Bad}

// refused writes the failed request and its cause.
func (p *Page) refused(a *account, w int) section {
	var all []page.Line
	for _, fact := range a.facts {
		label := fact.Label
		for _, text := range screen.Wrap(fact.Text, max(w-14, 20)) {
			all = append(all, page.Line{Label: label, Text: text, Style: factStyle[fact.Label]})
			label = ""
		}
	}
	return section{1 + len(all), func(c screen.Canvas) {
		c.Rule(0, "Out of memory", p.failureCount(a), true)
		for i, line := range all {
			c.Text(1, 1+i, line.Label, screen.Dim)
			c.Fit(11, 1+i, c.Width()-12, line.Text, line.Style)
		}
	}}
}

func (p *Page) failureCount(a *account) string {
	all := p.Scene.OOMs
	for k := range all {
		if all[k].Event == a.Event && len(all) > 1 {
			return screen.Count(k+1) + " of " + screen.Count(len(all)) + " · o next"
		}
	}
	return a.Verdict.String()
}

// replayQuestion asks with which other settings a request would have succeeded, or
// what those would save that the findings ask about.
type replayQuestion struct {
	index page.Edition
	event int         // of the failed request, NoEvent for none
	ask   *page.Scene // whose WhatIf answers
}

// replay is the answer, nil where there is nothing to replay. If it cannot be
// replayed, w says why.
func replay(ctx context.Context, q replayQuestion) *whatif.Answer {
	asked, needed := q.index.Ask(q.event)
	if !needed {
		return nil
	}
	a, err := q.ask.WhatIf(ctx, asked)
	if err != nil {
		return nil
	}
	return a
}

// askReplay asks about a trace that does not grow: where memory ran out, else once
// the findings are known.
func (p *Page) askReplay() tea.Cmd {
	if p.Scene.WhatIf == nil || p.Scene.Growing() {
		return nil
	}
	q := replayQuestion{p.Scene.Edition(), analysis.NoEvent, p.Scene}
	if a := p.failed(); a != nil {
		q.event = a.Event
	} else if !p.looked.Fresh() {
		return nil
	}
	return p.replayed.Ask(q)
}

// wouldFit lists changes, each of which alone would have made this request fit.
func (p *Page) wouldFit(a *account) section {
	whole := *a.Failure
	note := ""
	switch answer, ok := p.replayed.Answer(); {
	case p.Scene.WhatIf == nil || p.Scene.Growing():
	case ok && p.replayed.Answered().event == a.Event:
		if answer != nil {
			whole.AddSettings(answer.Changes())
		}
	default:
		note = "replaying other settings …"
	}
	return section{1 + max(len(whole.WouldFit), 1), func(c screen.Canvas) {
		c.Rule(0, "What alone would have made it fit", note, false)
		if len(whole.WouldFit) == 0 {
			c.Text(1, 1, "no single change that memtop can count", screen.Dim)
		}
		for i, change := range whole.WouldFit {
			c.Right(1, 1+i, screen.BytesWidth, screen.Bytes(change.Saving), screen.Fine)
			c.Fit(13, 1+i, c.Width()-26, change.Text, screen.Plain)
			c.Right(0, 1+i, c.Width()-1, string(change.Basis), screen.Dim)
		}
	}}
}

// holdingSide is the width of the part by category, holdingName that of a category's name.
const (
	holdingSide = 38
	holdingName = 18
)

// holding shows the holders of memory, by category and by line: beside each other
// if there is room and the rules behind the categories are hidden.
func (p *Page) holding(a *account, w, h int) section {
	f, _ := p.asked.Answer()
	categories, shown := p.heldCategories(&f, a), ownLines(a.Lines)
	x, y, rows := holdingSide, 0, max(len(categories), min(len(shown), max(h/3, 5)))
	shown = shown[:min(len(shown), rows)]
	if w < 2*holdingSide || p.tells() {
		x, y, rows = 0, len(categories), len(categories)+len(shown)
	}
	name := max(nameWidth(categories), holdingName)
	return section{1 + rows, func(c screen.Canvas) {
		c.Rule(0, "Who held the rest, "+screen.Bytes(a.Live), p.certainty(&f, c.Width()), false)
		for i, row := range categories {
			if row.part == 0 {
				c.Set(1, 1+i, '█', row.style)
			}
			drawFall(c.Sub(screen.Rect{X: 2, W: c.Width() - 2, H: c.Height()}), 1+i, name, row, a.Live)
		}
		for i, row := range shown {
			c.Right(x+1, 1+y+i, screen.BytesWidth, screen.Bytes(row.Self), screen.Plain)
			c.Fit(x+2+screen.BytesWidth, 1+y+i, c.Width()-x-3-screen.BytesWidth, row.Name, screen.Plain)
		}
	}}
}

// heldCategories returns a row for each category with memory, and below it the
// rows of its rules if they are shown.
func (p *Page) heldCategories(f *facts, a *account) []fall {
	var held []fall
	for _, c := range trace.Categories {
		if bytes := a.Categories[c]; bytes > 0 {
			held = append(held, fall{name: c.String(), bytes: bytes, style: screen.Style{Fg: screen.Band(c.Place())}, chosen: p.chosen(c)})
			held = append(held, p.rulesOf(f, c)...)
		}
	}
	return held
}

// ownLines are the rows of a table that hold memory themselves.
func ownLines(t *lines.Table) []lines.Row {
	return slices.DeleteFunc(slices.Clone(t.Rows), func(row lines.Row) bool { return row.Self <= 0 })
}
