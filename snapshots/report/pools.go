package report

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Pool is the memory of a pool at the end.
type Pool struct {
	ID            [2]int64 `json:"id"`
	Segments      int      `json:"segments"`
	ReservedBytes int64    `json:"reserved_bytes"`
	ActiveBytes   int64    `json:"active_bytes"`
	Small         PoolPart `json:"small"`
	Large         PoolPart `json:"large"`
}

// PoolPart is the part of a pool for small requests, or for large ones. Its
// reserved bytes are the sum of the active, the inactive split and the releasable
// bytes.
type PoolPart struct {
	Segments       int   `json:"segments"`
	ReservedBytes  int64 `json:"reserved_bytes"`
	ActiveBytes    int64 `json:"active_bytes"`
	RequestedBytes int64 `json:"requested_bytes"`
	// InactiveSplitBytes are free and share a segment with blocks in use.
	InactiveSplitBytes int64 `json:"inactive_split_bytes"`
	// ReleasableBytes are free, in segments without a live block. Free memory of
	// expandable segments is counted here, as PyTorch does.
	ReleasableBytes int64 `json:"releasable_bytes"`
}

// poolReports sums the final state up by pool, in ascending order of id.
func poolReports(x *analysis.Index) []Pool {
	pools, tables := grouped.By[[2]int64, Pool]{List: make([]Pool, 0)}, x.Trace().Tables
	for i := range x.Device().Final.Segments {
		s := &x.Device().Final.Segments[i]
		id := [2]int64(tables.Pools[s.Pool])
		pools.Of(id).add(id, s, tables.String(s.Type) == "small")
	}
	slices.SortFunc(pools.List, func(a, b Pool) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return pools.List
}

func (r *Pool) add(id [2]int64, s *trace.Segment, small bool) {
	part := &r.Large
	if small {
		part = &r.Small
	}
	t := s.Sums()
	of := PoolPart{Segments: 1, ReservedBytes: s.Size, ActiveBytes: t.Active, RequestedBytes: t.Requested}
	if free := s.Size - of.ActiveBytes; free == s.Size || s.Expandable {
		of.ReleasableBytes = free
	} else {
		of.InactiveSplitBytes = free
	}
	part.include(&of)
	r.ID, r.Segments, r.ReservedBytes, r.ActiveBytes = id, r.Segments+1, r.ReservedBytes+s.Size, r.ActiveBytes+of.ActiveBytes
}

// poolLines prints the allocator's memory by pool, small and large.
func (d *Device) poolLines(p *page) {
	all, rows := PoolPart{}, 0
	line := func(name string, part *PoolPart) {
		p.line("  %-14s%9d%12s%12s%16s%12s", name, part.Segments, quantity.Bytes(part.ReservedBytes),
			quantity.Bytes(part.ActiveBytes), quantity.Bytes(part.InactiveSplitBytes), quantity.Bytes(part.ReleasableBytes))
	}
	p.line("")
	p.line("  %-14s%9s%12s%12s%16s%12s", "pool at end", "segments", "reserved", "active", "inactive split", "releasable")
	for i := range d.Pools {
		pool := &d.Pools[i]
		name := ""
		if pool.ID != [2]int64{} {
			name = fmt.Sprintf("(%d, %d) ", pool.ID[0], pool.ID[1])
		}
		for _, of := range []struct {
			class string
			part  *PoolPart
		}{{"small", &pool.Small}, {"large", &pool.Large}} {
			if of.part.Segments > 0 {
				line(name+of.class, of.part)
				all.include(of.part)
				rows++
			}
		}
	}
	if rows != 1 {
		line("all", &all)
	}
}

func (p *PoolPart) include(o *PoolPart) {
	p.Segments += o.Segments
	p.ReservedBytes += o.ReservedBytes
	p.ActiveBytes += o.ActiveBytes
	p.RequestedBytes += o.RequestedBytes
	p.InactiveSplitBytes += o.InactiveSplitBytes
	p.ReleasableBytes += o.ReleasableBytes
}
