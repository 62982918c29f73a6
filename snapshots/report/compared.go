package report

import (
	"bytes"
	"encoding/json"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
)

// Compared has the numbers by which ranks are compared, those of the device that
// matters most. Its lines are those of that device.
type Compared struct {
	ranks.Row
	AtPeak Categories `json:"categories_at_peak"`
}

// MarshalJSON adds the numbers by which ranks are compared, and the rank if the file or
// its name says one. A text has neither, and they take a replay of the segments.
func (r *Report) MarshalJSON() ([]byte, error) {
	if x := ranks.Fullest(r.indexes); x != nil && r.Compared == nil {
		f := ranks.Alone(r.Source.Path)
		row := f.Row(x)
		r.compare(&row)
	}
	type plain Report // without this method
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // whoever encodes the whole decides that
	err := encoder.Encode((*plain)(r))
	return text.Bytes(), err
}

func (r *Report) compare(row *ranks.Row) {
	r.Compared = &Compared{*row, Categories{Bytes: row.AtPeak}}
	if row.Rank.Rank != ranks.Unranked {
		r.Place = placeOf(row)
	}
}

// RankRow returns the row of a rank whose file was read.
func RankRow(f *ranks.File, x *analysis.Index) ranks.Row {
	row := f.Row(x)
	if holders, _ := x.AtPeak(); !row.Measured {
		addLines(&row, x.Summary().PeakRequested, linesOf(x, holders))
	}
	return row
}

// addLines adds what the lines of a trace hold at its peak.
func addLines(r *ranks.Row, peak int64, all []Line) {
	r.Lines, r.Unlined = make(map[string]int64, len(all)), peak
	for i := range all {
		r.Lines[all[i].label()] += all[i].Bytes
		r.Unlined -= all[i].Bytes
	}
}
