package page

import (
	"slices"

	"github.com/memtop/memtop/tui/screen"
)

// sparks are the eighths of a row, from the least to the most.
var sparks = [...]rune{'▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// Spark draws the last values that fit into w cells as a small chart between
// their least and their most, the newest at the right. Values that never change
// make a line.
func Spark(c screen.Canvas, x, y, w int, values []int64, style screen.Style) {
	values = values[max(len(values)-max(w, 0), 0):]
	if len(values) > 0 {
		SparkWithin(c, x, y, w, values, slices.Min(values), slices.Max(values), style)
	}
}

// SparkWithin is Spark with a given least and most, which several charts can
// share.
func SparkWithin(c screen.Canvas, x, y, w int, values []int64, least, most int64, style screen.Style) {
	values = values[max(len(values)-max(w, 0), 0):]
	x += w - len(values)
	rise := func(to int64) float64 { return float64(uint64(to) - uint64(least)) } // the difference may overflow int64
	for i, v := range values {
		if least == most {
			c.Set(x+i, y, '─', screen.Dim)
			continue
		}
		c.Set(x+i, y, sparks[int(rise(v)/rise(most)*float64(len(sparks)-1)+0.5)], style)
	}
}
