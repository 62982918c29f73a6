package wire

import "github.com/memtop/memtop/snapshots/trace"

// # States
//
// A segment is its fields one after another, then its blocks. A block begins
// with one byte; what follows depends on its bits. Blocks mostly follow each
// other without gaps and give the same fields, so that a free one takes a few
// bytes.
const (
	stateMask    = 0x03 // trace.BlockState
	apart        = 0x04 // the address follows; otherwise it is where the block before ends
	otherGiven   = 0x08 // the fields given follow; otherwise they are those of the block before
	hasRequested = 0x10
	hasOrigin    = 0x20 // the stack and the note follow; otherwise both are 0
	hasText      = 0x40
	hasHistory   = 0x80
)

// Base sends the memory of a device at one moment. The first base begins the
// device. A later base says that events before it are missing: how many, -1 if
// unknown, and why. first is the number, in the program's own count, of the event
// that follows next.
func (e *Encoder) Base(device int, first int64, s *trace.State, missed int64, reason string) {
	e.frame()
	e.signed(int64(device))
	e.signed(first)
	e.signed(missed)
	e.text(reason)
	e.number(uint64(len(s.Segments)))
	for i := range s.Segments {
		e.segment(&s.Segments[i])
	}
	e.end(BaseFrame)
}

func (e *Encoder) segment(s *trace.Segment) {
	e.segmentFields(s)
	e.number(uint64(len(s.Blocks)))
	last := trace.Block{Addr: s.Addr}
	for i := range s.Blocks {
		e.block(&s.Blocks[i], &last)
		last = s.Blocks[i]
	}
}

func (e *Encoder) block(b, last *trace.Block) {
	head := byte(b.State) & stateMask
	for _, bit := range [...]struct {
		on  bool
		bit byte
	}{
		{b.Addr != last.Addr+uint64(last.Size), apart},
		{b.Given != last.Given, otherGiven},
		{b.Requested != 0, hasRequested},
		{b.Stack != 0 || b.Note != 0, hasOrigin},
		{b.StateText != 0, hasText},
		{len(b.History) > 0, hasHistory},
	} {
		if bit.on {
			head |= bit.bit
		}
	}
	e.buf = append(e.buf, head)
	if head&apart != 0 {
		e.number(b.Addr)
	}
	e.signed(b.Size)
	if head&otherGiven != 0 {
		e.number(uint64(b.Given))
	}
	if head&hasRequested != 0 {
		e.signed(b.Requested)
	}
	if head&hasOrigin != 0 {
		e.number(uint64(b.Stack))
		e.number(uint64(b.Note))
	}
	if head&hasText != 0 {
		e.number(uint64(b.StateText))
	}
	if head&hasHistory != 0 {
		e.history(b.History)
	}
}

func (e *Encoder) history(tenants []trace.Tenant) {
	e.number(uint64(len(tenants)))
	for _, t := range tenants {
		e.number(t.Addr)
		e.signed(t.Requested)
		e.number(uint64(t.Stack))
	}
}
