package analysis

import (
	"github.com/memtop/memtop/snapshots/analysis/card"
	"github.com/memtop/memtop/snapshots/trace"
)

// CardLedger returns what was used of the device's memory right after an event, and
// the gauge that says so: that of GaugeAt. The gauge is nil if the driver was not
// asked, and for the memory of a processor. The map is that of SegmentsAt.
func (x *Index) CardLedger(at int, m *Map) (card.Ledger, *trace.Gauge) {
	gauge := x.GaugeAt(at)
	if gauge == nil || gauge.Used < 0 || x.uncached {
		return card.Ledger{}, nil
	}
	return card.Of(gauge, x.reservedIn(at, m)), gauge
}

// reservedIn returns what the allocator has right after an event, by kind.
func (x *Index) reservedIn(at int, m *Map) (r card.Reserved) {
	pools := make(map[trace.PoolID]bool)
	for i := range m.Segments {
		s := &m.Segments[i]
		switch {
		case x.tables.Pools[s.Pool] != (trace.Pool{}):
			r.Private += s.Size
			pools[s.Pool] = true
		case s.Expandable:
			r.Expandable += s.Size
		default:
			r.Default += s.Size
		}
	}
	r.Pools = len(pools)
	if at == x.End() {
		r.Default += x.Summary().Reserved - r.Default - r.Expandable - r.Private // what the writer's own sum has more
	}
	return r
}
