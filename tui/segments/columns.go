package segments

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// columns are the columns of the list of segments. Bar draws a segment's blocks.
func columns(x *analysis.Index, bar func(screen.Canvas, *analysis.MapSegment)) []page.Column[*analysis.MapSegment] {
	type segment = *analysis.MapSegment
	return []page.Column[segment]{
		{Head: "address", Width: page.From(77, 15), Searched: true, Text: func(s segment) string { return screen.Address(s.Addr) }, Compare: func(a, b segment) int { return cmp.Compare(a.Addr, b.Addr) }},
		{Head: "size", Width: page.Cells(screen.BytesWidth), Searched: true, Text: func(s segment) string { return screen.Bytes(s.Size) }, Value: func(s segment) int64 { return s.Size }},
		{Head: "used", Width: page.Cells(6), Text: func(s segment) string { return screen.Percent(s.Live, s.Size) }, Compare: func(a, b segment) int { return cmp.Compare(used(b), used(a)) }},
		{Head: "blocks by address", Rest: page.All, Left: true, Still: true, Draw: bar},
		{Head: "free", Width: page.Cells(screen.BytesWidth), Text: func(s segment) string { return screen.Bytes(s.Free) }, Value: func(s segment) int64 { return s.Free }},
		{Head: "live", Width: page.Cells(6), Text: func(s segment) string { return screen.Count(s.LiveCount) }, Value: func(s segment) int64 { return int64(s.LiveCount) }},
		{Head: "pin", Width: page.Cells(4), Text: flags, Value: pinned},
		{Head: "stream", Width: page.From(99, 6), Text: func(s segment) string { return page.StreamText(s.Stream) }},
		{Head: "pool", Width: page.From(99, 9), Text: func(s segment) string { return page.PoolText(x.Trace().Tables, s.Pool) }},
		{Head: "type", Width: page.From(99, 5), Searched: true, Text: func(s segment) string { return s.Class }},
		{Searched: true, Text: func(s segment) string { return words(x, s) }},
	}
}

func used(s *analysis.MapSegment) float64 { return float64(s.Live) / float64(max(s.Size, 1)) }

// pinned returns the free bytes that a pin keeps from the driver.
func pinned(s *analysis.MapSegment) int64 {
	if s.Pin == nil {
		return 0
	}
	return s.Free
}

// flags marks a segment with letters: pinned, expandable, without live blocks.
func flags(s *analysis.MapSegment) string {
	f := ""
	if s.Pin != nil {
		f += "P"
	}
	if s.Expandable {
		f += "X"
	}
	if s.LiveCount == 0 {
		f += "E"
	}
	return f
}

// words are texts of a segment for search and filter, in addition to its columns.
func words(x *analysis.Index, s *analysis.MapSegment) string {
	words := []string{"stream " + page.StreamText(s.Stream), "pool " + page.PoolText(x.Trace().Tables, s.Pool), x.StackName(s.Stack)}
	if s.Expandable {
		words = append(words, "expandable")
	}
	if s.Pin != nil {
		words = append(words, "pinned", x.StackName(s.Pin.Stack))
	}
	if s.LiveCount == 0 {
		words = append(words, "empty")
	}
	if slices.ContainsFunc(s.Blocks, func(b analysis.MapBlock) bool { return b.State == trace.PendingFree }) {
		words = append(words, "pending")
	}
	return strings.Join(words, " ")
}

// drawBar draws a segment's blocks, optionally with a length in proportion to the
// segment.
func (p *Page) drawBar(c screen.Canvas, s *analysis.MapSegment) {
	w := c.Width()
	if p.scaled {
		w = max(int(float64(w)*float64(s.Size)/float64(p.largest)+0.5), 1)
	}
	page.DrawBar(p.Scene, c, 0, 0, w, s)
}
