package host

import (
	"github.com/memtop/memtop/snapshots/trace"
)

// Limit is an amount of memory that ends the program when it is used up.
type Limit struct {
	Whose      string
	Bytes, Use int64
}

// Left returns how much is left of it.
func (l Limit) Left() int64 { return max(0, l.Bytes-l.Use) }

// LimitOf returns the limit of which least is left: the machine's memory, that of a
// control group, or the address space. It reports false if the gauge knows none.
func LimitOf(g *trace.Gauge) (Limit, bool) {
	var found []Limit
	if g.Total > 0 && g.Used >= 0 {
		found = append(found, Limit{"the machine", g.Total, g.Used})
	}
	if g.Limit > 0 {
		found = append(found, Limit{"its control group", g.Limit, g.LimitUsed})
	}
	if h := g.Host; h != nil && h.AddressSpaceLimit > 0 {
		found = append(found, Limit{"its address space (ulimit -v)", h.AddressSpaceLimit, h.AddressSpace})
	}
	if len(found) == 0 {
		return Limit{}, false
	}
	least := found[0]
	for _, l := range found[1:] {
		if l.Left() < least.Left() {
			least = l
		}
	}
	return least, true
}
