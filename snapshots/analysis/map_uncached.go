package analysis

import "github.com/memtop/memtop/snapshots/quantity"

// # Without a caching allocator
//
// A device may have no caching allocator, such as a processor's memory. Every
// allocation is then a segment of its own. A list of those would say nothing that a
// list of allocations does not, so a map of such a device has sums and no segments.

// SegmentsText says how many segments there are, or that there can be none.
func (r *record) SegmentsText(n int) string {
	if r.uncached {
		return "no caching allocator"
	}
	return quantity.Plural(n, "segment")
}

// sumMap returns the map of a device without a caching allocator.
func (x *mapper) sumMap(at int) *Map {
	m := &Map{At: at, Exact: true}
	alive := x.alive(at)
	for i := range alive {
		m.Reserved += alive[i].Size
		if x.life.RequestedFree(&alive[i]) <= at {
			m.Pending += alive[i].Size
		}
	}
	m.Blocks, m.Active, m.Requested, m.Allocated = len(alive), m.Reserved, m.Reserved, m.Reserved-m.Pending
	return m
}
