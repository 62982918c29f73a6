package replay

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// pools knows which requests went to the private pools of CUDA graphs and
// MemPools: from the event itself, or from the segment of the final state that
// contains it.
type pools struct {
	tables *trace.Tables
	ranges []poolRange // ascending
}

type poolRange struct {
	from, to uint64
	pool     trace.Pool
}

func poolsOf(t *trace.Trace, d *trace.Device) pools {
	p := pools{tables: t.Tables}
	for i := range d.Final.Segments {
		s := &d.Final.Segments[i]
		if id := t.Tables.Pools[s.Pool]; id != (trace.Pool{}) {
			p.ranges = append(p.ranges, poolRange{s.Addr, s.End(), id})
		}
	}
	slices.SortFunc(p.ranges, func(x, y poolRange) int { return cmp.Compare(x.from, y.from) })
	return p
}

// divert sends the request of an event to its pool until the function that it
// returns is called.
func (p *pools) divert(a *alloc.Allocator, e *trace.Event) (end func()) { return divertTo(a, p.of(e)) }

// of returns the pool that an event is about.
func (p *pools) of(e *trace.Event) trace.Pool {
	id := p.tables.Pools[p.tables.Notes[e.Note].Pool]
	if id == (trace.Pool{}) && e.Kind != trace.OOM {
		id = p.at(e.Addr)
	}
	return id
}

// divertTo sends requests to a pool, and keeps the pool in use.
func divertTo(a *alloc.Allocator, id trace.Pool) (end func()) {
	if id == (trace.Pool{}) || a.BeginPool(id, nil) != nil {
		return func() {}
	}
	return func() { _ = a.EndPool(id) } // begun above
}

// makeWhole makes pools that hand their blocks out whole, if the release has such.
func makeWhole(a *alloc.Allocator, pools []trace.Pool) {
	for _, id := range pools {
		_ = a.MakePool(id, alloc.PoolOptions{NoSplit: true}) // the replay shows whether that was right
	}
}

// at returns the pool of an address.
func (p *pools) at(addr uint64) trace.Pool {
	i, _ := slices.BinarySearchFunc(p.ranges, addr, func(r poolRange, addr uint64) int {
		if r.to <= addr {
			return -1
		}
		return 1
	})
	if i < len(p.ranges) && p.ranges[i].from <= addr {
		return p.ranges[i].pool
	}
	return trace.Pool{}
}
