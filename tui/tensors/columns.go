package tensors

import (
	"cmp"

	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// when is a width rule that leaves a column out unless it has something to show.
func when(shown bool, width func(int) int) func(int) int {
	if !shown {
		return page.Cells(0)
	}
	return width
}

// siteColumns are the columns of a list of creation sites. Without steps growth
// is unknown, and the other columns have more room.
func siteColumns(h *held) []page.Column[row] {
	least := func(w int) int { return map[bool]int{true: w, false: 0}[h.stepped] }
	return []page.Column[row]{
		{Head: "verdict", Width: when(h.stepped, page.Cells(14)), Left: true, Text: func(r row) string { return trendText(r.site.Trend) }, Style: func(r row) screen.Style { return trendStyle(r.site.Trend) }, Compare: compareTrends},
		{Head: "bytes", Width: page.Cells(screen.BytesWidth), Searched: true, Text: func(r row) string { return screen.Bytes(r.site.Bytes) }, Value: func(r row) int64 { return r.site.Bytes }},
		{Head: "count", Width: page.From(least(70), 6), Text: func(r row) string { return screen.Count(r.site.Count) }, Value: func(r row) int64 { return int64(r.site.Count) }},
		{Head: "per step", Width: when(h.stepped, page.Cells(10)), Text: func(r row) string { return growthText(r.site) }, Value: func(r row) int64 { return r.site.GrowthPerStep }},
		{Head: "oldest", Width: when(h.stepped, page.From(100, 7)), Text: func(r row) string { return ageText(r.site.Oldest, r.site.AtLeast) }, Value: func(r row) int64 { return r.site.Oldest }},
		{Head: "category", Width: page.From(least(100), 11), Left: true, Searched: true, Text: func(r row) string { return categoryText(r.site.Category, r.site.Guessed) }, Value: func(r row) int64 { return -int64(r.site.Category.Place()) }},
		{Head: "steps", Width: when(h.stepped, func(w int) int { return page.From(60, min(max(w/9, 8), leak.HistorySteps))(w) }), Left: true, Draw: drawLevels},
		{Head: "created at", Rest: page.All, Left: true, Searched: true, Text: siteName, Compare: func(a, b row) int { return cmp.Compare(a.site.Name, b.site.Name) }},
		{Searched: true, Text: func(r row) string { return r.site.Trend.String() }},
	}
}

// layerWidth is the smallest width at which layers have their own column.
const layerWidth = 115

// tensorColumns are the columns of a list of tensors. Beside the layer's column a
// tensor's name is its role. If the site is above the list it has no column.
func tensorColumns(h *held, of view) []page.Column[row] {
	dim := func(row) screen.Style { return screen.Dim }
	name := func(a, b row) int { return cmp.Compare(a.tensor.Name, b.tensor.Name) }
	site := func(a, b row) int { return cmp.Compare(siteName(a), siteName(b)) }
	all := []page.Column[row]{
		{Head: "bytes", Width: page.Cells(screen.BytesWidth), Searched: true, Text: func(r row) string { return screen.Bytes(r.tensor.Size) }, Value: func(r row) int64 { return r.tensor.Size }},
		{Head: "age", Width: page.Cells(7), Text: func(r row) string { return ageText(r.tensor.Age, r.tensor.AtLeast) }, Value: func(r row) int64 { return r.tensor.Age }},
		{Head: "category", Width: page.Cells(11), Left: true, Searched: true, Text: func(r row) string { return categoryText(r.tensor.Category, r.tensor.Guessed) }, Value: func(r row) int64 { return -int64(r.tensor.Category.Place()) }},
		{Searched: true, Text: func(r row) string { return siteName(r) + " " + siteTrend(r) }},
	}
	if !h.described {
		return append(all, page.Column[row]{Head: "created at", Rest: page.All, Left: true, Style: dim, Text: siteName, Compare: site})
	}
	return append(all, []page.Column[row]{
		{Head: "tensor", Width: page.Below(layerWidth, 4), Rest: page.All, Left: true, Searched: true, Text: func(r row) string { return r.tensor.Name }, Compare: name},
		{Head: "tensor", Width: page.From(layerWidth, 4), Rest: page.All, Left: true, Searched: true, Text: func(r row) string { return cmp.Or(r.tensor.Role, r.tensor.Name) }, Compare: name},
		{Head: "shape", Width: when(h.shaped, page.From(70, 16)), Left: true, Searched: true, Text: func(r row) string { return r.tensor.Shape }, Compare: func(a, b row) int { return cmp.Compare(a.tensor.Shape, b.tensor.Shape) }},
		{Head: "dtype", Width: when(h.shaped, page.From(78, 8)), Left: true, Searched: true, Text: func(r row) string { return r.tensor.DType }, Compare: func(a, b row) int { return cmp.Compare(a.tensor.DType, b.tensor.DType) }},
		{Head: "layer", Width: when(h.shaped, page.From(layerWidth, 14)), Left: true, Searched: true, Text: func(r row) string { return r.tensor.Layer }, Compare: func(a, b row) int { return cmp.Compare(a.tensor.Layer, b.tensor.Layer) }},
		{Head: "created at", Width: when(of == single, func(w int) int { return page.From(100, w/4)(w) }), Left: true, Style: dim, Text: siteName, Compare: site},
	}...)
}
