package overview

import (
	"fmt"

	"github.com/memtop/memtop/tui/screen"
)

// graphCount is how many CUDA graphs are listed; the report has all.
const graphCount = 24

// graphs lists the CUDA graphs in the order of their capture, with what they need and
// keep in their pool, by how much they made it grow, and how reserved memory would change
// without each.
func (p *Page) graphs() section {
	seen, _ := p.looked.Answer()
	g := seen.graphs
	if g == nil || len(g.Captured) == 0 {
		return section{}
	}
	right := ""
	if g.OnePool != nil {
		right = screen.Bytes(*g.OnePool) + " less in one pool"
	}
	n := min(len(g.Captured), graphCount)
	return listed(screen.Plural(len(g.Captured), "CUDA graph"), right, 1+n, func(c screen.Canvas, y, i int) {
		cells, name, style := [...]string{"needs", "keeps", "pool grows", "without"}, "pool, line of its capture", screen.Dim
		if i > 0 {
			of := &g.Captured[i-1]
			cells = [...]string{screen.Bytes(of.Needs), screen.Bytes(of.Keeps), screen.Bytes(of.Grew), "not known"}
			if of.Without != nil {
				cells[3] = screen.Bytes(-*of.Without)
			}
			name, style = fmt.Sprintf("(%d,%d) %s", of.Pool[0], of.Pool[1], of.Name), screen.Plain
		}
		for k, text := range cells {
			c.Right(1+11*k, y, screen.BytesWidth, text, style)
		}
		c.Fit(47, y, c.Width()-48, name, style)
	})
}
