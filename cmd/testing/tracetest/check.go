package tracetest

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Check checks the rules that every whole trace of a caching allocator keeps, and
// lists the broken ones: the sums and the layout of the final state, the order of
// times, and a replay of the events by address. It shares no code with
// [trace.Lifetimes], because it judges that, and adds what [trace.Rewind] cannot
// undo. It is plain rather than fast.
//
// A trace that begins in the middle is whole. A trace is not whole if events were
// removed from it, or if its writer skipped some events.
func Check(t *trace.Trace) trace.Problems {
	c := &checker{trace: t}
	for i := range t.Devices {
		c.device = &t.Devices[i]
		c.end = c.device.Events.Len()
		c.checkSegments()
		c.checkTimes()
		c.checkForward()
		_, undone := trace.Rewind(t, c.device)
		for _, p := range undone.First {
			c.report(p.Event, "%s", p.Reason)
		}
	}
	return c.problems
}

type checker struct {
	trace    *trace.Trace
	device   *trace.Device
	end      int // the event number that stands for the final state
	problems trace.Problems
}

func (c *checker) report(event int, format string, values ...any) {
	c.problems.Add(c.device.ID, event, format, values...)
}

func (c *checker) checkSegments() {
	var end uint64
	for i := range c.device.Final.Segments {
		s := &c.device.Final.Segments[i]
		if s.Addr < end {
			c.report(c.end, "segment %#x begins before the one before it ends", s.Addr)
		}
		end = s.Addr + uint64(s.Size)
		small := c.trace.Tables.Strings[s.Type] == "small"
		if small && !s.Expandable && s.Size != 2<<20 {
			c.report(c.end, "small segment %#x has %d bytes instead of 2 MiB", s.Addr, s.Size)
		}
		c.checkBlocks(s)
		c.checkSums(s)
	}
}

func (c *checker) checkBlocks(s *trace.Segment) {
	at := s.Addr
	for _, b := range s.Blocks {
		if b.Addr != at {
			c.report(c.end, "block %#x follows one that ends at %#x", b.Addr, at)
		}
		at = b.Addr + uint64(b.Size)
		if b.State != trace.Allocated && b.State != trace.PendingFree {
			continue
		}
		if b.Size <= 0 || b.Size%512 != 0 {
			c.report(c.end, "live block %#x has %d bytes, not a multiple of 512", b.Addr, b.Size)
		}
		if asked := wanted(&b); asked > b.Size {
			c.report(c.end, "block %#x has %d bytes, less than the %d asked for", b.Addr, b.Size, asked)
		}
	}
	if at != s.Addr+uint64(s.Size) {
		c.report(c.end, "blocks of segment %#x end at %#x instead of %#x", s.Addr, at, s.Addr+uint64(s.Size))
	}
}

// wanted returns what the program asked for when it got the live block b.
func wanted(b *trace.Block) int64 {
	if len(b.History) > 0 {
		return b.History[0].Requested
	}
	if b.Given&trace.GaveRequested == 0 {
		return b.Size
	}
	return b.Requested
}

func (c *checker) checkSums(s *trace.Segment) {
	var total, allocated, active, requested int64
	for _, b := range s.Blocks {
		total += b.Size
		switch b.State {
		case trace.Allocated:
			allocated += b.Size
			active += b.Size
			requested += wanted(&b)
		case trace.PendingFree:
			active += b.Size
			requested += wanted(&b)
		default:
		}
	}
	for _, sum := range []struct {
		name        string
		given       bool
		said, found int64
	}{
		{"total", true, s.Size, total},
		{"allocated", s.Given&trace.GaveAllocated != 0, s.Allocated, allocated},
		{"active", s.Given&trace.GaveActive != 0, s.Active, active},
		{"requested", s.Given&trace.GaveRequested != 0, s.Requested, requested},
	} {
		if sum.given && sum.said != sum.found {
			c.report(c.end, "segment %#x says %d %s bytes, its blocks have %d", s.Addr, sum.said, sum.name, sum.found)
		}
	}
}

func (c *checker) checkTimes() {
	var last int64
	for i := range c.end {
		e := c.device.Events.At(i)
		if e.Absent&trace.NoTime != 0 {
			continue
		}
		if e.Time < last {
			c.report(i, "the clock goes back by %d µs", last-e.Time)
		}
		last = e.Time
	}
}

// checkForward plays the events by address.
func (c *checker) checkForward() {
	live := make(map[uint64]int64)
	for i := range c.end {
		e := c.device.Events.At(i)
		size, open := live[e.Addr]
		switch e.Kind {
		case trace.Alloc:
			if open {
				c.report(i, "alloc at %#x, which is live", e.Addr)
			}
			live[e.Addr] = e.Size
		case trace.FreeRequested, trace.FreeCompleted, trace.Free:
			if open && size != e.Size {
				c.report(i, "%s of %d bytes at %#x, which was made with %d", e.Kind, e.Size, e.Addr, size)
			}
			if e.Kind != trace.FreeRequested {
				delete(live, e.Addr)
			}
		default:
		}
	}
	c.checkLeft(live)
}

// checkLeft compares what the events left live with the final state.
func (c *checker) checkLeft(live map[uint64]int64) {
	final := make(map[uint64]int64)
	for _, s := range c.device.Final.Segments {
		for _, b := range s.Blocks {
			if b.State == trace.Allocated || b.State == trace.PendingFree {
				final[b.Addr] = wanted(&b)
			}
		}
	}
	addrs := make([]uint64, 0, len(live))
	for addr := range live {
		addrs = append(addrs, addr)
	}
	slices.SortFunc(addrs, cmp.Compare[uint64])
	for _, addr := range addrs {
		if size, ok := final[addr]; !ok {
			c.report(c.end, "the allocation at %#x is live after the events and not in the final state", addr)
		} else if size != live[addr] {
			c.report(c.end, "the allocation at %#x has %d bytes, in the final state %d", addr, live[addr], size)
		}
	}
}
