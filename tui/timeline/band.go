package timeline

import (
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// banding is the property by which the chart splits memory into bands.
type banding uint8

const (
	byCategory banding = iota
	byAllocation
)

// bandAtCursor returns the band that the line describes: the selected one, else
// the largest live one at the cursor, noBand for none.
func (p *Page) bandAtCursor() int {
	d := &p.drill
	if g := d.selected(); d.step == inAll && d.shownStep() == inAll && g != nil && !g.all {
		return g.band
	} else if d.step != inAll && d.band != allBands {
		return d.band
	}
	best, most, at := noBand, int64(0), p.Scene.Cursor()
	for i := range p.chart.Bands {
		if b := &p.chart.Bands[i]; !b.Rest {
			a := p.Scene.Index.Lifetimes().Allocation(b.Allocation)
			if a.Open <= at && at < a.Close && a.Size > most {
				best, most = i, a.Size
			}
		}
	}
	return best
}

// drawBand describes a band in one line: its size, where it was made, and its
// lifetime.
func (p *Page) drawBand(c screen.Canvas) {
	if c.Height() == 0 || p.charted.by != byAllocation {
		return
	}
	i := p.bandAtCursor()
	if i < 0 || i >= len(p.chart.Bands) || p.chart.Bands[i].Rest {
		return
	}
	b := &p.chart.Bands[i]
	a := p.Scene.Index.Lifetimes().Allocation(b.Allocation)
	life := p.lifeText(a)
	swatch(c, 1, 0, &group{letter: bandLetter(b, i, byAllocation), role: bandRole(b, i, byAllocation)})
	x := c.Text(4, 0, screen.Bytes(a.Size), screen.Strong) + 2
	room := c.Width() - 1 - x
	least := min(screen.Width(life), room*2/3)
	c.Fit(x, 0, room-least-2, p.drill.names.Allocation(p.Scene.Index, a), screen.Plain)
	c.Right(x, 0, room, screen.Truncate(life, least), screen.Dim)
}

// lifeText says when an allocation was born and freed, short enough for a line.
func (p *Page) lifeText(a trace.Allocation) string {
	born, freed := "held from before", "never freed"
	if a.Open >= 0 {
		born = "born #" + screen.Count(a.Open)
	}
	if a.Close == trace.Never {
		return born + ", " + freed
	}
	freed = "freed #" + screen.Count(a.Close)
	from, ok := p.Scene.Since(a.Open)
	if to, timed := p.Scene.Since(a.Close); ok && timed {
		freed += ", " + screen.Micros(to-from)
	}
	return born + ", " + freed
}
