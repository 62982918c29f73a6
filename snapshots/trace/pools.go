package trace

import (
	"cmp"
	"slices"
)

// Pools knows which events are about the private pools of CUDA graphs and
// MemPools: from the event itself, or else from the segment of the final state
// that contains it.
type Pools struct {
	tables *Tables
	ranges []poolRange // ascending
}

type poolRange struct {
	from, to uint64
	pool     Pool
}

// NewPools returns the pools of a device of a trace.
func NewPools(t *Trace, d *Device) Pools {
	p := Pools{tables: t.Tables}
	for i := range d.Final.Segments {
		s := &d.Final.Segments[i]
		if id := t.Tables.Pools[s.Pool]; id != (Pool{}) {
			p.ranges = append(p.ranges, poolRange{s.Addr, s.End(), id})
		}
	}
	slices.SortFunc(p.ranges, func(x, y poolRange) int { return cmp.Compare(x.from, y.from) })
	return p
}

// Private reports whether a private pool has memory in the end.
func (p *Pools) Private() bool { return len(p.ranges) > 0 }

// Of returns the pool that an event is about. Where the event names the default
// pool, a private one got its address later.
func (p *Pools) Of(e *Event) Pool {
	if id := p.tables.Notes[e.Note].Pool; id != 0 || e.Kind == OOM {
		return p.tables.Pools[id]
	}
	return p.at(e.Addr)
}

// at returns the pool of an address.
func (p *Pools) at(addr uint64) Pool {
	i, _ := slices.BinarySearchFunc(p.ranges, addr, func(r poolRange, addr uint64) int {
		if r.to <= addr {
			return -1
		}
		return 1
	})
	if i < len(p.ranges) && p.ranges[i].from <= addr {
		return p.ranges[i].pool
	}
	return Pool{}
}
