package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/trace"
)

// measure fills in a map's sums after its segments and blocks are set.
func (m *Map) measure() {
	for i := range m.Segments {
		s := &m.Segments[i]
		s.measure()
		m.Reserved += s.Size
		m.Active += s.Live
		m.Pending += s.Pending
		m.Free += s.Free
		m.Rounding += s.Rounding
		m.Blocks += s.LiveCount
		if s.LiveCount == 0 {
			m.Releasable += s.Free
		}
	}
	m.Allocated = m.Active - m.Pending
	m.Requested = m.Active - m.Rounding
	m.groupFits()
	m.groupPools()
}

func (s *MapSegment) measure() {
	var smallest *MapBlock
	for i := range s.Blocks {
		b := &s.Blocks[i]
		switch {
		case b.State.Live():
			s.Live += b.Size
			if b.State == trace.PendingFree {
				s.Pending += b.Size
			}
			s.Rounding += b.Size - b.Requested
			s.LiveCount++
			if smallest == nil || b.Size < smallest.Size {
				smallest = b
			}
		case b.State == trace.Inactive:
			s.Free += b.Size
			s.FreeCount++
			s.LargestFree = max(s.LargestFree, b.Size)
		}
	}
	// Memory of an expandable segment goes back page by page, so no single
	// block keeps the rest of it.
	if s.Free > s.Live && !s.Expandable {
		s.Pin = smallest
	}
}

func (m *Map) groupFits() {
	type group struct {
		pool   trace.PoolID
		stream trace.StreamID
		kind   string
	}
	var fits grouped.By[group, Fit]
	for i := range m.Segments {
		s := &m.Segments[i]
		fits.Of(group{s.Pool, s.Stream, s.Class}).add(s)
	}
	m.Fits = fits.List
	slices.SortFunc(m.Fits, func(a, b Fit) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Type, b.Type))
	})
}

func (f *Fit) add(s *MapSegment) {
	f.Pool, f.Stream, f.Type = s.Pool, s.Stream, s.Class
	f.Free += s.Free
	f.Largest = max(f.Largest, s.LargestFree)
	f.Blocks += s.FreeCount
	if s.Class == "small" {
		f.Largest = min(f.Largest, trace.SmallLimit) // larger requests go to the other class
	}
}

func (m *Map) groupPools() {
	var pools grouped.By[trace.PoolID, PoolUse]
	for i := range m.Segments {
		s := &m.Segments[i]
		p := pools.Of(s.Pool)
		*p = PoolUse{s.Pool, p.Segments + 1, p.Reserved + s.Size, p.Active + s.Live, p.Free + s.Free}
	}
	m.Pools = pools.List
	slices.SortFunc(m.Pools, func(a, b PoolUse) int { return cmp.Compare(a.Pool, b.Pool) })
}
