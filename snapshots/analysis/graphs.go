package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// capture begins the names of the ranges in which CUDA graphs were captured, as
// the agent's captures.py writes them. After it come the pool, the line and what
// tells the graph from others of that line.
const capture = "CUDA graph in pool "

// mostGraphs is how many captures are looked at.
const mostGraphs = 4096

// Graph is a CUDA graph in numbers: of the blocks that its capture allocated in its
// pool. What the driver keeps for a graph is not among them.
type Graph struct {
	Name     string   `json:"name"` // its line, and what tells it from others of that line
	Pool     [2]int64 `json:"pool"`
	Needs    int64    `json:"needs_bytes"` // the most of them alive at once
	Keeps    int64    `json:"keeps_bytes"` // alive when the capture ended
	Grew     int64    `json:"pool_growth_bytes"`
	Without  *int64   `json:"without_saves_bytes"` // reserved less after the last capture if this one is left out; null if not known
	from, to int
}

// Graphs are the CUDA graphs of a device, as far as its trace tells of them.
type Graphs struct {
	Captured []Graph `json:"captured"`             // in their order, none if the trace has no captures
	Pools    int     `json:"pools"`                // that graphs have
	OnePool  *int64  `json:"one_pool_saves_bytes"` // reserved less after the last capture if all share a pool; null if not known

	pools []trace.Pool
}

// Graphs returns the device's CUDA graphs, nil if it has none. The answer is that
// to [Index.Ask], nil where it is not known.
func (x *Index) Graphs(a *whatif.Answer) *Graphs {
	found := *x.foundGraphs()
	if found.Pools == 0 {
		return nil
	}
	reserved, at := x.ReservedAt(x.captured(&found)), 0
	saved := func() *int64 {
		bytes, known := a.Saved(at, reserved)
		if at++; !known {
			return nil
		}
		return &bytes
	}
	if found.Pools > 1 {
		found.OnePool = saved()
	}
	found.Captured = slices.Clone(found.Captured)
	for i := range found.Captured {
		found.Captured[i].Without = saved()
	}
	return &found
}

// captured returns the last event of the last capture; without captures the last of all.
func (x *Index) captured(g *Graphs) int {
	if n := len(g.Captured); n > 0 {
		return g.Captured[n-1].to - 1
	}
	return x.End()
}

// graphChanges are the changes that a replay can tell about in a second or two: all
// graphs in one pool, and each graph left out.
func (x *Index) graphChanges(found *Graphs) (list []whatif.GraphChange) {
	if x.events.Len() < 2 || x.events.Len() > mostTried {
		return nil
	}
	if found.Pools > 1 {
		list = append(list, whatif.GraphChange{OnePool: found.pools})
	}
	if x.events.Len()*len(found.Captured) > 2*mostTried {
		return list
	}
	for _, g := range found.Captured {
		list = append(list, whatif.GraphChange{From: g.from, To: g.to, Of: g.Pool})
	}
	return list
}

// Ask returns the question whose answer the device's findings and graphs need, and
// the request that failed at an event; NoEvent is none. It is false if they need none.
func (x *Index) Ask(event int) (q whatif.Question, needed bool) {
	found := x.foundGraphs()
	q = whatif.Question{Trace: x.trace, Device: x.device, Graphs: x.graphChanges(found), Captured: x.captured(found), Event: event}
	if event != NoEvent {
		return q, true
	}
	q.Settings, q.Exact = []string{}, true
	if trial := x.Trial(); trial != "" {
		q.Settings = append(q.Settings, trial)
	}
	return q, len(q.Settings)+len(q.Graphs) > 0
}

func (x *Index) foundGraphs() *Graphs {
	return x.kept.graphs.get(x, func(*Graphs) *Graphs { return x.findGraphs() })
}

// findGraphs finds the captures, which do not overlap, and the pools that graphs
// have: a capture's own, and those with the number of a graph.
func (x *Index) findGraphs() *Graphs {
	found, before := &Graphs{}, 0
	pools := trace.NewPools(x.trace, x.device)
	for _, m := range x.Marks() {
		name, is := strings.CutPrefix(m.Name, capture)
		id, name, parsed := poolIn(name)
		if !is || !parsed || m.OpenStart || m.OpenEnd || m.From < before || len(found.Captured) == mostGraphs {
			continue
		}
		g := Graph{Name: name, Pool: id, from: m.From, to: m.To}
		x.measure(&g, &pools)
		found.Captured, found.pools, before = append(found.Captured, g), append(found.pools, id), m.To
	}
	for i := range x.device.Final.Segments {
		if id := x.tables.Pools[x.device.Final.Segments[i].Pool]; id[0] != 0 {
			found.pools = append(found.pools, id)
		}
	}
	slices.SortFunc(found.pools, func(a, b trace.Pool) int { return slices.Compare(a[:], b[:]) })
	found.pools = slices.Compact(found.pools)
	found.Pools = len(found.pools)
	return found
}

// poolIn reads "(N, N), " at the beginning of a text.
func poolIn(text string) (id trace.Pool, rest string, ok bool) {
	n, err := fmt.Sscanf(text, "(%d, %d),", &id[0], &id[1])
	_, rest, _ = strings.Cut(text, "), ")
	return id, rest, n == 2 && err == nil && id != trace.Pool{}
}

// measure plays the events of a capture.
func (x *Index) measure(g *Graph, pools *trace.Pools) {
	sizes := x.blockSizes()
	for i, e := range x.events.Range(g.from, g.to) {
		if pools.Of(e) != g.Pool {
			continue
		}
		g.Grew += e.ReservedDelta()
		a, known := x.life.About(i)
		switch {
		case !known || a.Open < g.from:
		case e.Kind == trace.Alloc:
			g.Keeps += sizes.Of(&a)
			g.Needs = max(g.Needs, g.Keeps)
		case e.Kind.Closes():
			g.Keeps -= sizes.Of(&a)
		}
	}
}
