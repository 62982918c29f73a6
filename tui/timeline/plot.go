package timeline

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// rowSteps are the eighths of a cell, from empty to full.
var rowSteps = [...]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// noBand marks the part of a cell above all bands.
const noBand = -1

// plot draws the bands. Each cell has eight levels; where two bands meet in
// one the lower is drawn as a part block on the colour of the upper. Without
// colour each band is filled with its letter.
type plot struct {
	canvas  screen.Canvas
	chart   *analysis.Timeline
	roles   []screen.Role
	letters []rune
	base    int64 // bytes at the lower edge
	top     int64 // bytes at the upper edge
	dim     int   // the highlighted band, noBand for none: the others fade
	edges   []int
}

// level returns how many eighths high so many bytes are.
func (p *plot) level(bytes int64) int {
	share := float64(bytes-p.base) / float64(max(p.top-p.base, 1))
	return int(max(share, 0)*float64(8*p.canvas.Height()) + 0.5)
}

func (p *plot) draw() {
	for x := range p.chart.Columns {
		p.setEdges(&p.chart.Columns[x])
		for y := range p.canvas.Height() {
			p.cell(x, y)
		}
	}
}

// setEdges computes where each band of a column ends, in eighths.
func (p *plot) setEdges(c *analysis.Column) {
	p.edges = p.edges[:0]
	sum := int64(0)
	for _, bytes := range c.Bands {
		sum += bytes
		p.edges = append(p.edges, p.level(sum))
	}
}

// cell draws row y, counted from below, of column x.
func (p *plot) cell(x, y int) {
	low, high := 8*y, 8*y+8
	row := p.canvas.Height() - 1 - y
	lower, lowerTop := p.bandFrom(low)
	if lower == noBand {
		return
	}
	if p.canvas.Theme().Letters() {
		if b := p.most(low, high); b != noBand {
			p.canvas.Set(x, row, p.letters[b], p.style(b))
		}
		return
	}
	if lowerTop >= high {
		p.canvas.Set(x, row, '█', p.style(lower))
		return
	}
	style := p.style(lower)
	if upper := p.most(lowerTop, high); upper != noBand {
		style.Bg = p.roles[upper]
	}
	p.canvas.Set(x, row, rowSteps[lowerTop-low], style)
}

func (p *plot) style(b int) screen.Style {
	s := screen.Style{Fg: p.roles[b]}
	if p.dim == b && p.canvas.Theme().Letters() {
		s.Attr = screen.Reverse
	}
	return s
}

// bandFrom returns the band at a level and where it ends.
func (p *plot) bandFrom(level int) (int, int) {
	for b, edge := range p.edges {
		if edge > level {
			return b, edge
		}
	}
	return noBand, level
}

// most returns the band that fills most of the levels [low, high).
func (p *plot) most(low, high int) int {
	best, bestSize, at := noBand, 0, low
	for b, edge := range p.edges {
		if edge <= at {
			continue
		}
		size := min(edge, high) - at
		if size > bestSize {
			best, bestSize = b, size
		}
		if at = min(edge, high); at == high {
			break
		}
	}
	if high-at > bestSize {
		return noBand
	}
	return best
}

// label writes each band's letter where the band is thickest, so that the
// picture can be read without comparing colours.
func (p *plot) label() {
	if p.canvas.Theme().Letters() {
		return
	}
	type place struct{ size, x, level int }
	best := make([]place, len(p.letters))
	for x := range p.chart.Columns {
		p.setEdges(&p.chart.Columns[x])
		from := 0
		for b, edge := range p.edges {
			if size := edge - from; size > best[b].size {
				best[b] = place{size, x, (from + edge) / 2}
			}
			from = edge
		}
	}
	for b, at := range best {
		row := p.canvas.Height() - 1 - at.level/8
		if at.size >= 12 && p.canvas.Rune(at.x, row) == '█' {
			p.canvas.Set(at.x, row, p.letters[b], screen.Style{Fg: screen.OnBand, Bg: p.roles[b], Attr: screen.Bold})
		}
	}
}

// bandRole is a band's colour.
func bandRole(b *analysis.Band, i int, by banding) screen.Role {
	switch {
	case b.Rest:
		return screen.Rest
	case b.Held && by != byAllocation:
		return screen.Held
	case by == byCategory:
		return screen.Band(b.Category.Place())
	default:
		return screen.Series(i)
	}
}

// bandLetter is a band's letter on terminals without colours.
func bandLetter(b *analysis.Band, i int, by banding) rune {
	switch {
	case b.Rest:
		return '.'
	case b.Held && by != byAllocation:
		return page.HeldLetter
	case by != byCategory:
		return rune('a' + i%26)
	default:
		return page.Letter(b.Category)
	}
}
