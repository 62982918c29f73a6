package layers

import (
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// row is a layer of the table, and its number there.
type row struct {
	*analysis.LayerRow
	at int
}

// barWidth is the room for the bar of a layer's part of all that is saved.
const barWidth = 10

// columns are the columns of the table, from left to right. They draw from the
// currently shown answer.
func (p *Page) columns() []page.Column[row] {
	type layer = *analysis.LayerRow
	type sum = *analysis.LayerSum
	saved := p.number("saved", page.Cells(10), some, func(r layer) int64 { return r.Sum.SavedBytes }, func(s sum) int64 { return s.SavedBytes })
	saved.Gap, saved.Style = 1, func(r row) screen.Style {
		if r.at == p.data.largest {
			return screen.Strong
		}
		return dimNone(some(r.Sum.SavedBytes))
	}
	return []page.Column[row]{
		{Head: "layer", Rest: 41, Gap: 1, Left: true, Natural: true, Searched: true, Text: func(r row) string { return nameOf(r.LayerRow) }, Draw: p.drawName},
		word("class", page.From(105, 12), func(r layer) string { return r.Class }),
		word("output shape", page.From(148, 18), func(r layer) string { return r.OutputShape }),
		word("dtype", page.From(158, 8), func(r layer) string { return r.DType }),
		p.number("parameters", page.From(79, 10), some, func(r layer) int64 { return r.Sum.ParameterBytes }, func(s sum) int64 { return s.ParameterBytes }),
		p.number("output", page.From(91, 10), some, func(r layer) int64 { return r.OutputBytes }, nil),
		saved,
		{Head: "share", Width: page.Cells(barWidth), Gap: 2, Left: true, Under: true, Draw: p.drawShare},
		{
			Head: "on", Width: p.ifHost(page.From(47, 4)), Gap: 2, Left: true, Searched: true, Style: func(row) screen.Style { return screen.Style{Fg: screen.Accent} },
			Text: placeText, Compare: func(a, b row) int { return strings.Compare(placeText(b), placeText(a)) },
		},
		{
			Head: "ckpt", Width: page.From(47, 4), Gap: 2, Left: true, Searched: true, Style: func(row) screen.Style { return screen.Style{Fg: screen.Good} },
			Text: markText, Compare: func(a, b row) int { return strings.Compare(markText(b), markText(a)) },
		},
		p.number("temporary", p.ifTemporary(page.From(128, 10)), some, func(r layer) int64 { return r.Sum.TransientPeakBytes }, func(s sum) int64 { return s.TransientPeakBytes }),
		p.number("forward", page.From(57, 8), took, func(r layer) int64 { return r.ForwardNS }, func(s sum) int64 { return s.ForwardNS }),
		p.number("backward", page.From(67, 8), took, func(r layer) int64 { return r.BackwardNS }, func(s sum) int64 { return s.BackwardNS }),
		p.number("recompute", page.From(116, 9), took, func(r layer) int64 { return r.RecomputeNS }, func(s sum) int64 { return s.RecomputeNS }),
		p.number("calls", page.From(165, 5), count, func(r layer) int64 { return int64(r.Calls) }, nil),
	}
}

// ifTemporary is the width of the column of temporary memory: none for a program that
// does not measure it.
func (p *Page) ifTemporary(width func(int) int) func(int) int {
	return p.only(func() bool { return p.data.Total.TransientPeakBytes > 0 }, width)
}

// ifHost is the width of the column of devices: none while all layers compute on the
// same.
func (p *Page) ifHost(width func(int) int) func(int) int {
	return p.only(func() bool {
		return slices.ContainsFunc(p.data.Rows, func(r analysis.LayerRow) bool { return r.OnHost })
	}, width)
}

// only is the width of a column that is there if the answer has something for it.
func (p *Page) only(there func() bool, width func(int) int) func(int) int {
	return func(w int) int {
		if p.data == nil || !there() {
			return 0
		}
		return width(w)
	}
}

// word is a column of words, which search and filter look at.
func word(head string, width func(int) int, of func(*analysis.LayerRow) string) page.Column[row] {
	return page.Column[row]{
		Head: head, Width: width, Gap: 2, Left: true, Searched: true,
		Text: func(r row) string { return of(r.LayerRow) }, Compare: func(a, b row) int { return strings.Compare(of(a.LayerRow), of(b.LayerRow)) },
	}
}

// number is a column of numbers with their format. Sum is nil if they have no
// total.
func (p *Page) number(head string, width func(int) int, write func(int64) string, of func(*analysis.LayerRow) int64, sum func(*analysis.LayerSum) int64) page.Column[row] {
	col := page.Column[row]{
		Head: head, Width: width, Gap: 2,
		Text: func(r row) string { return write(of(r.LayerRow)) }, Value: func(r row) int64 { return of(r.LayerRow) },
		Style: func(r row) screen.Style { return dimNone(write(of(r.LayerRow))) },
	}
	if sum != nil {
		col.Total = func() string { return write(sum(&p.data.Total)) }
	}
	return col
}

// none is the text for an empty value.
const none = "·"

func dimNone(text string) screen.Style {
	if text == none {
		return screen.Dim
	}
	return screen.Plain
}

// placeText says in a word whether the layer computes on the host.
func placeText(r row) string {
	if r.OnHost {
		return "host"
	}
	return ""
}

// markText says in a word whether the layer runs again in the backward pass.
func markText(r row) string {
	if r.Checkpointed {
		return "ckpt"
	}
	return ""
}

func count(n int64) string { return screen.Count(int(n)) }

// some writes a size, and nothing for none.
func some(bytes int64) string {
	if bytes == 0 {
		return none
	}
	return screen.Bytes(bytes)
}

// took writes a duration, and nothing for none.
func took(ns int64) string {
	if ns == 0 {
		return none
	}
	return screen.Micros(ns / 1000)
}

// drawName draws a layer's name in the tree, and how it folds.
func (p *Page) drawName(c screen.Canvas, r row) {
	x := min(2*r.Depth, c.Width()/3)
	marker := '·'
	switch {
	case p.open(r.at):
		marker = '▾'
	case len(r.Children) > 0:
		marker = '▸'
	}
	c.Set(x, 0, marker, screen.Style{Fg: screen.Accent})
	style := screen.Plain
	if r.at == p.data.largest {
		style = screen.Strong
	}
	if search := p.table.Search; search != "" && find.Text(r.Name, search) {
		style = screen.Style{Fg: screen.Accent, Attr: screen.Bold | screen.Underline}
	}
	c.Fit(x+2, 0, c.Width()-x-2, labelOf(r.LayerRow), style)
}

// drawShare draws the layer's share of all saved memory. Its own part is full,
// and the part of the layers inside is light.
func (p *Page) drawShare(c screen.Canvas, r row) {
	all := float64(max(p.data.Total.SavedBytes, 1))
	if r.Sum.SavedBytes == 0 {
		return
	}
	style := screen.Style{Fg: screen.Band(trace.Activation.Place())}
	whole := int(float64(r.Sum.SavedBytes)/all*barWidth + 0.999)
	for k := range min(whole, barWidth) {
		c.Set(k, 0, '░', style)
	}
	if r.SavedBytes > 0 {
		c.Bar(0, 0, barWidth, float64(r.SavedBytes)/all, style)
	}
	if r.at == p.data.largest && whole < barWidth-4 {
		c.Text(whole+1, 0, "most", screen.Warn)
	}
}
