package export

import (
	"strconv"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// The chart's size in its own units, which the browser scales. The script has
// more columns than the picture, so that the user can zoom in.
const (
	chartWidth   = 1000
	chartHeight  = 260
	chartColumns = 500
	dataColumns  = 2000
)

// chart is the timeline as shapes of SVG. Its y axis points down.
type chart struct {
	Width, Height     int
	Bands             []chartBand // of every category that occurs
	Reserved          string      // the path of the line
	Grid              []chartLine
	Marks             []chartLine
	Last              string // the number of the last event
	Now, ReservedSize string // at the moment of the page
	Data              *chartData
}

type chartBand struct{ Name, Class, Path, Size string }

// chartLine is a line across the chart with its text: at a height for the grid,
// or at an event for marks.
type chartLine struct {
	At, Percent string // in units of the chart; of its height
	Text, Class string
	Event       int
}

// bandClass is the style of a category's band. The band after the categories is
// memory from before recording.
func bandClass(band int) string { return "c" + strconv.Itoa(band) }

func (s snapshot) chart() *chart {
	n := s.index.End() + 1
	t := s.index.Timeline(0, n, min(n, chartColumns))
	c := &chart{
		Width: chartWidth, Height: chartHeight, Last: quantity.Count(n - 1),
		Now: s.title(), ReservedSize: quantity.Bytes(s.index.ReservedAt(s.event)),
	}
	scale := chartScale{columns: len(t.Columns), events: n, top: max(t.Max, t.MaxReserved, 1)}
	seen := s.index.CategoryPeaks()
	c.draw(s, &t, &scale, seen)
	c.Data = newChartData(s.index, &scale, seen)
	for part := range 4 {
		level := scale.top / 4 * int64(part+1)
		c.Grid = append(c.Grid, chartLine{At: scale.y(level), Percent: short(float64(3-part) * 25), Text: quantity.Bytes(level)})
	}
	c.marks(s, &scale)
	return c
}

// draw stacks the bands that are not always empty, and draws the reserved line
// over them.
func (c *chart) draw(s snapshot, t *analysis.Timeline, scale *chartScale, seen []int64) {
	now := s.index.Timeline(s.event, s.event+1, 1).Columns[0].Bands
	floor := make([]int64, len(t.Columns))
	ceiling := make([]int64, len(t.Columns))
	for b := range t.Bands {
		for i := range t.Columns {
			ceiling[i] = floor[i] + t.Columns[i].Bands[b]
		}
		if seen[b] > 0 {
			c.Bands = append(c.Bands, chartBand{t.Bands[b].Name, bandClass(b), scale.area(floor, ceiling), quantity.Bytes(now[b])})
		}
		copy(floor, ceiling)
	}
	for i := range t.Columns {
		floor[i] = t.Columns[i].Reserved
	}
	c.Reserved = string(scale.steps(nil, floor, false))
}

// marks shows the page's moment, the peak, and out-of-memory events.
func (c *chart) marks(s snapshot, scale *chartScale) {
	const mostOOMs = 50
	for _, o := range analysis.SomeOOMs(s.index.OOMEvents(), mostOOMs) {
		c.Marks = append(c.Marks, chartLine{scale.x(o.Event), "", "out of memory at event " + quantity.Count(o.Event), "oom", o.Event})
	}
	peak := s.index.Summary().PeakEvent
	c.Marks = append(c.Marks, chartLine{scale.x(peak), "", "peak at event " + quantity.Count(peak), "peak", peak})
	if s.event != peak {
		c.Marks = append(c.Marks, chartLine{scale.x(s.event), "", "shown: event " + quantity.Count(s.event), "at", s.event})
	}
}

// chartScale turns events and bytes into places.
type chartScale struct {
	columns, events int
	top             int64
}

func (s *chartScale) x(event int) string {
	return short(float64(max(event, 0)) / float64(max(s.events, 1)) * chartWidth)
}

func (s *chartScale) edge(column int) string {
	return short(float64(column) / float64(max(s.columns, 1)) * chartWidth)
}

func (s *chartScale) y(bytes int64) string {
	return short(chartHeight * (1 - float64(bytes)/float64(s.top)))
}

// area is the path around a band.
func (s *chartScale) area(floor, ceiling []int64) string {
	path := s.steps(nil, ceiling, false)
	return string(append(s.steps(path, floor, true), 'Z'))
}

// steps appends a line along levels, a step for every column, backwards for the
// lower edge of an area.
func (s *chartScale) steps(path []byte, levels []int64, backwards bool) []byte {
	command, last := byte('M'), ""
	if backwards {
		command = 'L'
	}
	for k := range levels {
		i, from, to := k, k, k+1
		if backwards {
			i = len(levels) - 1 - k
			from, to = i+1, i
		}
		y := s.y(levels[i])
		switch {
		case k == 0:
			path = append(append(append(append(append(path, command), s.edge(from)...), ' '), y...), 'H')
		case y != last:
			path = append(append(append(append(path, s.edge(from)...), 'V'), y...), 'H')
		}
		if k == len(levels)-1 {
			path = append(path, s.edge(to)...)
		}
		last = y
	}
	return path
}

// short writes a coordinate with one decimal at most.
func short(v float64) string {
	text := strconv.FormatFloat(v, 'f', 1, 64)
	if len(text) > 2 && text[len(text)-2:] == ".0" {
		return text[:len(text)-2]
	}
	return text
}
