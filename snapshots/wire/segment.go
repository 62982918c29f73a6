package wire

import (
	"math"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Segments
//
// All that frames have of a segment beside its blocks: how it is written, and read.

// segmentLeast is the least bytes of a segment in a frame.
const segmentLeast = 12

func (e *Encoder) segmentFields(s *trace.Segment) {
	given := uint64(s.Given) << 1
	if s.Expandable {
		given |= 1
	}
	e.number(given)
	e.number(s.Addr)
	for _, n := range [...]int64{s.Size, s.Allocated, s.Active, s.Requested, int64(s.Device)} {
		e.signed(n)
	}
	for _, id := range [...]uint32{uint32(s.Stack), uint32(s.Stream), uint32(s.Pool), uint32(s.Type)} {
		e.number(uint64(id))
	}
}

func (d *Decoder) segmentFields(s *trace.Segment, c *cursor) {
	given := c.number()
	s.Expandable, s.Given = given&1 != 0, trace.Given(given>>1)
	s.Addr = c.number()
	s.Size, s.Allocated, s.Active, s.Requested = c.signed(), c.signed(), c.signed(), c.signed()
	s.Device = int32(min(max(c.signed(), math.MinInt32), math.MaxInt32))
	s.Stack = lookup(c, &d.ids.stacks, c.number())
	s.Stream = lookup(c, &d.ids.streams, c.number())
	s.Pool = lookup(c, &d.ids.pools, c.number())
	s.Type = lookup(c, &d.ids.strings, c.number())
}
