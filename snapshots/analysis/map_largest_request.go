package analysis

import "github.com/memtop/memtop/snapshots/trace"

// LargestRequest says how large a request the allocator could serve at some moment. All
// numbers are bytes.
type LargestRequest struct {
	Cached     int64 // the largest request that a cached block serves
	Returnable int64 // free memory that could go back to the driver, because no live block keeps it
	Pinned     int64 // the rest of the free memory
	Driver     int64 // the driver's free memory, −1 if not known
	Largest    int64 // the largest request that can be served, also by a new segment
}

// LargestRequestIn returns it for a map of an index. Before a request fails, the
// allocator gives back what it can and asks the driver for a new segment.
func LargestRequestIn(x *Index, m *Map) LargestRequest {
	geometry := trace.NewGeometry(x.trace.Settings)
	r := LargestRequest{Cached: m.LargestFit(), Driver: driverFree(x, m.At)}
	for i := range m.Segments {
		s := &m.Segments[i]
		if x.tables.Pools[s.Pool] == (trace.Pool{}) { // private pools are kept
			r.Returnable += s.returnable(&geometry)
		}
	}
	r.Pinned = m.Free - r.Returnable
	r.Largest = max(r.Cached, geometry.LargestRequest(r.Returnable+max(r.Driver, 0)))
	return r
}

// driverFree returns the driver's free memory right after an event: as a failed
// request reports it, or as a running program's gauge does.
func driverFree(x *Index, event int) int64 {
	if event >= 0 && x.events.At(event).Kind == trace.OOM {
		return x.oomAt(event).DeviceFree
	}
	if g := x.GaugeAt(event); g != nil && g.Total >= 0 && g.Used >= 0 {
		return max(0, g.Total-g.Used)
	}
	return -1
}

// returnable counts the bytes of a segment that can go back to the driver: the
// whole segment if no block in it is live; for an expandable segment, its free
// pages.
func (s *MapSegment) returnable(geometry *trace.Geometry) int64 {
	switch {
	case s.LiveCount == 0:
		return s.Free
	case !s.Expandable:
		return 0
	}
	page, bytes := uint64(geometry.Page(s.Class == "small")), uint64(0)
	for i := range s.Blocks {
		b := &s.Blocks[i]
		from, to := (b.Addr-s.Addr+page-1)/page, (b.Addr-s.Addr+uint64(b.Size))/page
		if b.State == trace.Inactive && to > from {
			bytes += (to - from) * page
		}
	}
	return int64(bytes)
}
