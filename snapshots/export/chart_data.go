package export

import "github.com/memtop/memtop/snapshots/analysis"

// chartData is the input of the page's script: only numbers.
type chartData struct {
	Events   int       `json:"events"`
	Top      int64     `json:"top"`            // the level at the upper edge
	At       []int     `json:"at"`             // by column, the event with the highest level
	Time     []int64   `json:"time,omitempty"` // of that event, in microseconds since the first one
	Reserved []int64   `json:"reserved"`
	Bands    [][]int64 `json:"bands"` // by band and column
}

// newChartData collects the bands that are not always empty.
func newChartData(x *analysis.Index, scale *chartScale, seen []int64) *chartData {
	t := x.Timeline(0, scale.events, min(scale.events, dataColumns))
	d := &chartData{Events: scale.events, Top: scale.top}
	for b := range t.Bands {
		if seen[b] == 0 {
			continue
		}
		levels := make([]int64, len(t.Columns))
		for i := range t.Columns {
			levels[i] = t.Columns[i].Bands[b]
		}
		d.Bands = append(d.Bands, levels)
	}
	for i := range t.Columns {
		at := t.Columns[i].At
		d.At, d.Reserved = append(d.At, at), append(d.Reserved, t.Columns[i].Reserved)
		if x.Timed() {
			d.Time = append(d.Time, timeAt(x, at)-timeAt(x, 0))
		}
	}
	return d
}
