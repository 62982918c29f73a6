package export

import "slices"

// point is a level right after an event.
type point struct {
	event int
	level int64
}

// counter is one level over time, thinned out.
type counter struct {
	name      string
	low, high point // of the run so far
	empty     bool
	written   bool
	last      int64 // the level written last
}

func (c *counter) add(event int, level int64) {
	if c.empty || level < c.low.level {
		c.low = point{event, level}
	}
	if c.empty || level > c.high.level {
		c.high = point{event, level}
	}
	c.empty = false
}

// flush ends a run.
func (c *counter) flush(p *perfetto) {
	first, second := c.low, c.high
	if first.event > second.event {
		first, second = second, first
	}
	c.write(p, first)
	c.write(p, second)
	c.empty = true
}

// write writes a point unless the counter already stands there.
func (c *counter) write(p *perfetto, at point) {
	if c.written && at.level == c.last {
		return
	}
	c.written, c.last = true, at.level
	p.write(traceEvent{Phase: "C", Name: c.name, Start: p.when(at.event), Args: map[string]int64{"bytes": at.level}})
}

// levels writes requested and reserved memory.
func (p *perfetto) levels() {
	x, n := p.index, p.index.End()+1
	requested, reserved := counter{name: "requested", empty: true}, counter{name: "reserved", empty: true}
	requested.write(p, point{-1, x.RequestedAt(-1)})
	reserved.write(p, point{-1, x.ReservedAt(-1)})
	runs := max(min(counterRuns/p.devices, n), 1)
	run, end := 0, n/runs
	x.Walk(func(event int, level, held int64) bool {
		requested.add(event, level)
		reserved.add(event, held)
		if event+1 == end {
			requested.flush(p)
			reserved.flush(p)
			run++
			end = int(int64(n) * int64(run+1) / int64(runs))
		}
		return true
	})
	// The last level lasts to the right edge, whatever the last run's extremes.
	requested.write(p, point{x.End(), x.RequestedAt(x.End())})
	reserved.write(p, point{x.End(), x.ReservedAt(x.End())})
}

// categories writes live memory by category.
func (p *perfetto) categories() {
	n := p.index.End() + 1
	t := p.index.Timeline(0, n, max(min(categoryRuns/p.devices, n), 1))
	var last []int64
	for _, column := range t.Columns {
		if slices.Equal(column.Bands, last) {
			continue
		}
		last = column.Bands
		levels := make(map[string]int64, len(t.Bands))
		for b, bytes := range column.Bands {
			levels[t.Bands[b].Name] = bytes
		}
		p.write(traceEvent{Phase: "C", Name: "live by category", Start: p.when(column.At), Args: levels})
	}
}
