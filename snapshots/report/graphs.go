package report

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// shownGraphs is how many graphs the text lists.
const shownGraphs = 24

// graphLines prints CUDA graphs in the order of their capture.
func graphLines(p *page, g *analysis.Graphs) {
	if g == nil {
		return
	}
	p.line("")
	if len(g.Captured) == 0 {
		p.wrap("  ", "CUDA graphs have "+quantity.Plural(g.Pools, "pool")+"; the file does not say which graph made what there. From PyTorch 2.5 on, a snapshot of memtop rehearse does.")
	} else {
		p.line("  %10s%12s%12s%12s  %s", "needs", "keeps", "pool grows", "without it", "CUDA graph, by capture")
	}
	for i := range g.Captured[:min(len(g.Captured), shownGraphs)] {
		c := &g.Captured[i]
		without := "not known"
		if c.Without != nil {
			without = signed(-*c.Without)
		}
		p.line("  %10s%12s%12s%12s  %s", quantity.Bytes(c.Needs), quantity.Bytes(c.Keeps), quantity.Bytes(c.Grew), without,
			fmt.Sprintf("(%d, %d) %s", c.Pool[0], c.Pool[1], c.Name))
	}
	if more := g.Captured[min(len(g.Captured), shownGraphs):]; len(more) > 0 {
		p.line("  and %s; --json has all", quantity.Plural(len(more), "more graph"))
	}
	if g.OnePool != nil {
		p.wrap("  ", "In one pool instead of "+quantity.Count(g.Pools)+", all graphs: "+signed(-*g.OnePool)+" reserved after the last capture.")
	}
}
