package layers

import (
	"cmp"
	"slices"
	"strings"

	"memtop/snapshots/analysis"
	"memtop/tui/screen"
)

// column is one column of the table. The rank says in which order columns get
// their room: the lowest first.
type column struct {
	id    columnID
	head  string
	width int
	left  bool
	rank  int
	text  func(r *analysis.LayerRow) string
	sum   func(s *analysis.LayerSum) string // nil where nothing adds up
}

type columnID uint8

const (
	byOrder columnID = iota // as they ran
	bySaved
	byMark
	byParameters
	byForward
	byBackward
	byOutput
	byClass
	byRecompute
	byTransient
	byShape
	byType
	byCalls
)

// nameWidth is the least room for the tree.
const nameWidth = 17

// all are the columns after the tree, from left to right.
var all = [...]column{
	{byClass, "class", 12, true, 6, func(r *analysis.LayerRow) string { return r.Class }, nil},
	{byShape, "output shape", 18, true, 9, func(r *analysis.LayerRow) string { return r.OutputShape }, nil},
	{byType, "dtype", 8, true, 10, func(r *analysis.LayerRow) string { return r.DType }, nil},
	{byParameters, "parameters", 10, false, 3, func(r *analysis.LayerRow) string { return some(r.Sum.ParameterBytes) }, func(s *analysis.LayerSum) string { return some(s.ParameterBytes) }},
	{byOutput, "output", 10, false, 5, func(r *analysis.LayerRow) string { return some(r.OutputBytes) }, nil},
	{bySaved, "saved", 10, false, 0, func(r *analysis.LayerRow) string { return some(r.Sum.SavedBytes) }, func(s *analysis.LayerSum) string { return some(s.SavedBytes) }},
	{byMark, "ckpt", 4, true, 1, markText, nil},
	{byTransient, "temporary", 10, false, 8, func(r *analysis.LayerRow) string { return some(r.Sum.TransientPeakBytes) }, func(s *analysis.LayerSum) string { return some(s.TransientPeakBytes) }},
	{byForward, "forward", 8, false, 2, func(r *analysis.LayerRow) string { return took(r.ForwardNS) }, func(s *analysis.LayerSum) string { return took(s.ForwardNS) }},
	{byBackward, "backward", 8, false, 2, func(r *analysis.LayerRow) string { return took(r.BackwardNS) }, func(s *analysis.LayerSum) string { return took(s.BackwardNS) }},
	{byRecompute, "recompute", 9, false, 7, func(r *analysis.LayerRow) string { return took(r.RecomputeNS) }, func(s *analysis.LayerSum) string { return took(s.RecomputeNS) }},
	{byCalls, "calls", 5, false, 11, func(r *analysis.LayerRow) string { return screen.Count(r.Calls) }, nil},
}

// barWidth is the room for the bar of a layer's part of all that is saved.
const barWidth = 10

// markText says in a word whether the layer runs again in the backward pass.
func markText(r *analysis.LayerRow) string {
	if r.Checkpointed {
		return "ckpt"
	}
	return ""
}

// some writes a size, and nothing for none.
func some(bytes int64) string {
	if bytes == 0 {
		return "·"
	}
	return screen.Bytes(bytes)
}

// took writes a duration, and nothing for none.
func took(ns int64) string {
	if ns == 0 {
		return "·"
	}
	return screen.Micros(ns / 1000)
}

// fitting returns the columns that fit into w cells beside the tree, and how
// wide that is then.
func fitting(w int) (columns []column, name int) {
	left := w - nameWidth - barWidth - 3
	chosen := slices.Clone(all[:])
	slices.SortStableFunc(chosen, func(a, b column) int { return cmp.Compare(a.rank, b.rank) })
	taken := make(map[columnID]bool)
	for _, c := range chosen {
		if c.width+2 > left {
			break
		}
		left -= c.width + 2
		taken[c.id] = true
	}
	for _, c := range all {
		if taken[c.id] {
			columns = append(columns, c)
		}
	}
	more := min(left, 24)
	return columns, nameWidth + more
}

// sorting is the order of layers within the one around them.
type sorting struct {
	by      columnID
	inverse bool
}

// compare puts what is large, and names from the beginning, first.
func (s sorting) compare(a, b *analysis.LayerRow) int {
	c := s.by.compare(a, b)
	if s.inverse {
		return -c
	}
	return c
}

func (c columnID) compare(a, b *analysis.LayerRow) int {
	switch c {
	case byClass:
		return strings.Compare(a.Class, b.Class)
	case byShape:
		return strings.Compare(a.OutputShape, b.OutputShape)
	case byType:
		return strings.Compare(a.DType, b.DType)
	case byMark:
		return strings.Compare(markText(b), markText(a))
	default:
		return cmp.Compare(c.value(b), c.value(a))
	}
}

// value returns the number that a column of numbers is sorted by.
func (c columnID) value(r *analysis.LayerRow) int64 {
	switch c {
	case bySaved:
		return r.Sum.SavedBytes
	case byParameters:
		return r.Sum.ParameterBytes
	case byOutput:
		return r.OutputBytes
	case byTransient:
		return r.Sum.TransientPeakBytes
	case byForward:
		return r.ForwardNS
	case byBackward:
		return r.BackwardNS
	case byRecompute:
		return r.RecomputeNS
	case byCalls:
		return int64(r.Calls)
	default:
		return 0
	}
}
