package report

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
)

// Compared has the numbers by which ranks are compared, those of the device that
// matters most. Its lines are those of that device.
type Compared struct {
	ranks.Row
	AtPeak Categories `json:"categories_at_peak"`
}

// compared returns nil if there is no device.
func compared(indexes []*analysis.Index) *Compared {
	x := ranks.Fullest(indexes)
	if x == nil {
		return nil
	}
	row := ranks.Of(x)
	return &Compared{row, Categories{Bytes: row.AtPeak}}
}

// RankRow returns the row of a rank whose file was read.
func RankRow(f *ranks.File, x *analysis.Index) ranks.Row {
	row := f.Row(x)
	holders, _ := x.AtPeak()
	addLines(&row, x.Summary().PeakRequested, linesOf(x, holders))
	return row
}

// addLines adds what the lines of a trace hold at its peak. If the row is about the peak
// of a step, they are not known.
func addLines(r *ranks.Row, peak int64, all []Line) {
	if r.Measured {
		return
	}
	r.Lines, r.Unlined = make(map[string]int64, len(all)), peak
	for i := range all {
		r.Lines[all[i].label()] += all[i].Bytes
		r.Unlined -= all[i].Bytes
	}
}
