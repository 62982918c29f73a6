package analysis

import "memtop/snapshots/trace"

// Sizes of the allocator that its settings do not change.
const (
	minBlock   = 512
	smallLimit = 1 << 20 // the largest block of the small class, and the largest rest left uncut
	smallSize  = 2 << 20 // the size of a segment of the small class
)

// rounder knows the settings that rounding depends on. A block of the large
// class may be up to 1 MiB larger still; see "Rests".
type rounder struct {
	rounding trace.Rounding
	maxSplit int64 // blocks from this size on are never cut; 0 when there is no limit
}

func newRounder(settings []trace.Setting) rounder {
	r := trace.NewRounding(settings)
	return rounder{rounding: r, maxSplit: r.MaxSplit}
}

// round returns the size of the block that serves a request of n bytes.
func (r *rounder) round(n int64) int64 { return r.rounding.Round(n) }
