package alloc

import "math/bits"

// The sizes of PyTorch's allocator, in bytes.
const (
	minBlock   = 512      // blocks are multiples of it
	smallLimit = 1 << 20  // the largest request of the small pool, and the largest rest a large block keeps
	smallSize  = 2 << 20  // a segment of the small pool
	largeSize  = 20 << 20 // a segment for requests between the small pool's and ownLimit
	ownLimit   = 10 << 20 // from here on a request gets a segment of its own
	ownUnit    = 2 << 20  // such segments are multiples of it
	maxRequest = 1 << 60  // larger requests are refused without a try
	unlimited  = 1<<63 - 1
)

// round returns how many bytes a request of n occupies at least: a multiple of
// 512 or, if the settings divide the powers of two, the next such division.
func (c *config) round(n int64) int64 {
	if d := c.divisions(n); d > 1 && n > minBlock*d {
		return roundToDivision(n, d)
	}
	return max(minBlock, (n+minBlock-1)&^(minBlock-1))
}

// divisions returns into how many parts the power of two below n is divided.
func (c *config) divisions(n int64) int64 {
	return c.roundup[min(bits.Len64(uint64(n)>>20|1)-1, len(c.roundup)-1)]
}

// roundToDivision rounds n up to a d-th part of the power of two below it.
func roundToDivision(n, d int64) int64 {
	if n&(n-1) == 0 {
		return n
	}
	floor := int64(1) << (bits.Len64(uint64(n)) - 1)
	step := floor >> (bits.Len64(uint64(d)) - 1)
	if step == 0 {
		return floor << 1
	}
	return (n + step - 1) &^ (step - 1)
}

// segmentSize returns how many bytes the allocator asks of the driver for a
// rounded request.
func (c *config) segmentSize(rounded int64) int64 {
	switch {
	case rounded <= smallLimit:
		return smallSize
	case rounded < ownLimit:
		return c.largeSegment
	default:
		return (rounded + ownUnit - 1) / ownUnit * ownUnit
	}
}

// splits reports whether a block gives back its rest when it serves a request.
func (c *config) splits(b *block, q *request) bool {
	if owner := q.pool.owner; owner != nil && owner.NoSplit {
		return false
	}
	least := int64(minBlock)
	if q.pool.kind == largePool && !q.grows {
		least = smallLimit + 1
	}
	return b.size-q.rounded >= least && (q.rounded < c.maxSplit || q.grows)
}

// SegmentFor returns how many bytes the allocator asks of the driver for a
// rounded request that no free block serves: a new segment, or whole pages of an
// expandable one. Safe for concurrent use.
func (a *Allocator) SegmentFor(rounded int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.config
	switch page := int64(smallSize); {
	case rounded >= maxRequest:
		return rounded
	case c.expandable && rounded > smallLimit:
		page = c.largeSegment
		fallthrough
	case c.expandable:
		return (rounded + page - 1) / page * page
	}
	return c.segmentSize(rounded)
}
