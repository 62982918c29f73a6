package tensors

import (
	"cmp"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// column is one column of a list. One of width 0 takes what is left.
type column struct {
	head  string
	sort  sortColumn
	width int
	right bool
	cell  func(p *Page, i int32) (string, screen.Style)
	spark bool // a small chart instead of text
}

// columns returns those that fit into w cells.
func (p *Page) columns(w int) []column {
	all := p.siteColumns(w)
	if p.view != sites {
		all = p.tensorColumns(w)
	}
	used := 1
	for _, col := range all {
		used += col.width + 1
	}
	for i := range all {
		if all[i].width == 0 {
			all[i].width = max(w-used, 4)
		}
	}
	return all
}

// ofSite makes a cell of a text of a site.
func ofSite(text func(s *analysis.Site) string) func(*Page, int32) (string, screen.Style) {
	return func(p *Page, i int32) (string, screen.Style) { return text(&p.held.sites[i]), screen.Plain }
}

func (p *Page) siteColumns(w int) []column {
	bytes := column{head: "bytes", sort: byBytes, width: screen.BytesWidth, right: true, cell: ofSite(func(s *analysis.Site) string { return screen.Bytes(s.Bytes) })}
	count := column{head: "count", sort: byCount, width: 6, right: true, cell: ofSite(func(s *analysis.Site) string { return screen.Count(s.Count) })}
	category := column{head: "category", sort: byCategory, width: 11, cell: ofSite(func(s *analysis.Site) string { return categoryText(s.Category, s.Guessed) })}
	name := column{head: "created at", sort: byName, cell: ofSite(func(s *analysis.Site) string { return s.Name })}
	if p.held == nil || !p.held.stepped {
		return []column{bytes, count, category, name}
	}
	all := []column{{head: "verdict", sort: byTrend, width: 14, cell: func(p *Page, i int32) (string, screen.Style) {
		return trendText(p.held.sites[i].Trend)
	}}, bytes}
	if w >= 70 {
		all = append(all, count)
	}
	all = append(all, column{head: "per step", sort: byGrowth, width: 10, right: true, cell: ofSite(growthText)})
	if w >= 100 {
		all = append(all, column{head: "oldest", sort: byAge, width: 7, right: true, cell: ofSite(func(s *analysis.Site) string { return ageText(s.Oldest, s.AtLeast) })}, category)
	}
	if w >= 60 {
		all = append(all, column{head: "steps", sort: noSort, width: min(max(w/9, 8), analysis.HistorySteps), spark: true})
	}
	return append(all, name)
}

// ofTensor makes a cell of a text of a tensor.
func ofTensor(text func(t *analysis.Tensor) string) func(*Page, int32) (string, screen.Style) {
	return func(p *Page, i int32) (string, screen.Style) { return text(&p.held.tensors[i]), screen.Plain }
}

func (p *Page) tensorColumns(w int) []column {
	all := []column{
		{head: "bytes", sort: byBytes, width: screen.BytesWidth, right: true, cell: ofTensor(func(t *analysis.Tensor) string { return screen.Bytes(t.Size) })},
		{head: "age", sort: byAge, width: 7, right: true, cell: ofTensor(func(t *analysis.Tensor) string { return ageText(t.Age, t.AtLeast) })},
		{head: "category", sort: byCategory, width: 11, cell: ofTensor(func(t *analysis.Tensor) string { return categoryText(t.Category, t.Guessed) })},
	}
	if !p.held.described {
		return append(all, column{head: "created at", sort: bySite, cell: createdAt})
	}
	name := func(t *analysis.Tensor) string { return t.Name }
	if w >= layerWidth {
		name = func(t *analysis.Tensor) string { return cmp.Or(t.Role, t.Name) }
	}
	all = append(all, column{head: "tensor", sort: byName, cell: ofTensor(name)})
	if w >= 70 {
		all = append(all, column{head: "shape", sort: byShape, width: 16, cell: ofTensor(func(t *analysis.Tensor) string { return t.Shape })})
	}
	if w >= 78 {
		all = append(all, column{head: "dtype", sort: byDType, width: 8, cell: ofTensor(func(t *analysis.Tensor) string { return t.DType })})
	}
	if w >= layerWidth {
		all = append(all, column{head: "layer", sort: byLayer, width: 14, cell: ofTensor(func(t *analysis.Tensor) string { return t.Layer })})
	}
	if w >= 100 && p.view == single {
		all = append(all, column{head: "created at", sort: bySite, width: w / 4, cell: createdAt})
	}
	return all
}

// layerWidth is the width from which layers have a column of their own.
const layerWidth = 115

func createdAt(p *Page, i int32) (string, screen.Style) {
	if s := p.held.siteOf(&p.held.tensors[i]); s != nil {
		return s.Name, screen.Dim
	}
	return "", screen.Dim
}

// trendText is a trend in at most fifteen cells.
func trendText(t analysis.Trend) (string, screen.Style) {
	switch t {
	case analysis.Unreachable:
		return "⚠ unreachable", screen.Bad
	case analysis.SuspectedLeak:
		return "⚠ suspected", screen.Bad
	case analysis.Growing:
		return "▲ growing", screen.Warn
	case analysis.Warming:
		return "  warming up", screen.Plain
	case analysis.ShapeDriven:
		return "  shape-driven", screen.Plain
	case analysis.Steady:
		return "  steady", screen.Dim
	default:
		return "  undecided", screen.Dim
	}
}

// growthText is by how much a site grows.
func growthText(s *analysis.Site) string {
	if s.GrowthPerStep == 0 {
		return ""
	}
	return "+" + screen.Bytes(s.GrowthPerStep)
}

// ageText is an age in steps; a plus says that it may be more.
func ageText(age int64, atLeast bool) string {
	switch {
	case age < 0:
		return "-"
	case atLeast:
		return screen.Count(int(age)) + "+"
	default:
		return screen.Count(int(age))
	}
}

// categoryText marks a guess.
func categoryText(c trace.Category, guessed bool) string {
	if guessed {
		return c.String() + "?"
	}
	return c.String()
}

// sortedBy is the column that the list is sorted by. Without steps there are no
// verdicts, and that order is the one of sizes.
func (p *Page) sortedBy() sortColumn {
	column := p.table().sort.column
	if column == byTrend && !p.held.stepped {
		return byBytes
	}
	return column
}

func (p *Page) drawHeads(c screen.Canvas, columns []column) {
	x := 1
	for _, col := range columns {
		head := col.head
		if col.sort == p.sortedBy() && col.sort != noSort {
			head += map[bool]string{false: "▼", true: "▲"}[p.table().sort.inverse]
		}
		if col.right {
			c.Right(x, 1, col.width, head, screen.Dim)
		} else {
			c.Fit(x, 1, col.width, head, screen.Dim)
		}
		x += col.width + 1
	}
}

func (p *Page) drawRow(c screen.Canvas, y int, i int32, columns []column) {
	x := 1
	for _, col := range columns {
		switch {
		case col.spark:
			s := &p.held.sites[i]
			_, style := trendText(s.Trend)
			page.Spark(c, x, y, col.width, levels(s), style)
		default:
			text, style := col.cell(p, i)
			if col.right {
				c.Right(x, y, col.width, text, style)
			} else {
				c.Fit(x, y, col.width, text, style)
			}
		}
		x += col.width + 1
	}
}

func levels(s *analysis.Site) []int64 {
	values := make([]int64, len(s.History))
	for i := range s.History {
		values[i] = s.History[i].Bytes
	}
	return values
}

// clickHead sorts by the column at x; once more inverts the order.
func (p *Page) clickHead(x, w int) {
	if !p.ready() {
		return
	}
	from, t := 1, p.table()
	for _, col := range p.columns(w - 1) {
		if x >= from && x < from+col.width && col.sort != noSort {
			t.sort = sorting{column: col.sort, inverse: p.sortedBy() == col.sort && !t.sort.inverse}
		}
		from += col.width + 1
	}
}

// sortBy goes so many columns to the right, around the ends.
func (p *Page) sortBy(step int) {
	if !p.ready() {
		return
	}
	var order []sortColumn
	at := 0
	for _, col := range p.columns(max(p.shape.list.W, 1) - 1) {
		if col.sort == noSort {
			continue
		}
		if col.sort == p.sortedBy() {
			at = len(order)
		}
		order = append(order, col.sort)
	}
	p.table().sort.column = order[(at+step+len(order))%len(order)]
}
