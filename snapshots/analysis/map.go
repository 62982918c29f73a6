package analysis

import "github.com/memtop/memtop/snapshots/trace"

// mapper knows the allocator's memory at any moment.
type mapper struct {
	*record
	segments lasting[*trace.SegmentHistory]
	sizes    lasting[*trace.BlockSizes]
	blocks   lasting[[]*trace.Block] // the live ones of the final state
	final    lasting[*Map]
	live     lasting[[]trace.Allocation] // at the end
	latest   latest[[]trace.Allocation]  // at the moment asked last
}

// Map is the allocator's memory at one moment.
type Map struct {
	At       int
	Exact    bool // as the writer gave it; otherwise sizes of blocks are inferred
	Segments []MapSegment

	Reserved   int64 // all segments
	Allocated  int64 // blocks in use
	Active     int64 // blocks in use or pending free
	Requested  int64 // requested bytes of the active blocks
	Free       int64 // cached, in no block
	Pending    int64 // of Active: freed by the program, another stream may still use it
	Rounding   int64 // Active − Requested: lost inside blocks
	Releasable int64 // of Free: in segments without any live block
	Blocks     int   // live ones
	Fits       []Fit
	Pools      []PoolUse

	// Outside counts live memory that lies in no segment, which happens only in
	// files that were cut by hand.
	Outside      int64
	OutsideCount int
}

// MapSegment is a range of memory obtained from the driver.
type MapSegment struct {
	trace.SegmentFacts
	Addr        uint64
	Size        int64
	Class       string     // "small" or "large", inferred if the writer did not say it
	Blocks      []MapBlock // by address, without gaps
	Live        int64      // bytes in live blocks
	Pending     int64      // of Live, pending free
	Free        int64
	Rounding    int64 // of Live, not asked for
	LiveCount   int
	FreeCount   int
	LargestFree int64 // the largest free block
	// Pin is the smallest live block of a segment that is mostly free. While it
	// lives, the segment cannot go back to the driver. Nil otherwise.
	Pin *MapBlock
}

// MapBlock is a piece of a MapSegment.
type MapBlock struct {
	Addr       uint64
	Size       int64
	Requested  int64 // 0 when free
	State      trace.BlockState
	Stack      trace.StackID
	Allocation trace.AllocationID // of a live block that has one
	Known      bool               // Allocation is set
}

// Fit says how large a request one group of segments can still serve. A group has
// one pool, one stream and one size class, because the allocator reuses free
// memory only within these.
type Fit struct {
	Pool    trace.PoolID
	Stream  trace.StreamID
	Type    string
	Free    int64
	Largest int64 // the largest request that needs no new segment
	Blocks  int   // free ones
}

// PoolUse is the memory that one memory pool holds.
type PoolUse struct {
	Pool     trace.PoolID
	Segments int
	Reserved int64
	Active   int64
	Free     int64
}

// SegmentsAt returns the map right after an event. At the end it is the writer's
// own map. Before, memtop finds the segments by undoing the trace's segment
// events, and infers the sizes of blocks that did not live to the end from the
// allocator's rounding rules.
func (x *mapper) SegmentsAt(at int) *Map {
	at = x.clamp(at)
	if at == x.End() {
		return x.final.get(x, func(*Map) *Map { return x.readFinal() })
	}
	return x.inferMap(at)
}

// LargestFit returns the largest request that some group can serve without a
// new segment.
func (m *Map) LargestFit() int64 {
	var best int64
	for i := range m.Fits {
		best = max(best, m.Fits[i].Largest)
	}
	return best
}
