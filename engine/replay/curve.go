package replay

import (
	"strings"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// curve is the recorded reserved memory, in bytes.
type curve struct {
	begin, peak, end int64
	refused          int64 // the least level above the peak that the driver refused, 0 if it is not known to have refused any
	ooms             int
	oom              *whatif.OOM // the failed request of the question, nil when none failed
}

// curveOf follows the reserved bytes from a state on. a has the recorded
// settings. asked is the event of the failed request of the question, by default
// the last one.
func curveOf(a *alloc.Allocator, d *trace.Device, base *trace.State, asked int) curve {
	c := curve{begin: base.Reserved()}
	c.peak, c.end = c.begin, c.begin
	flushes := trace.NewFlushes(c.begin)
	for i := 0; i < d.Events.Len(); {
		span := d.Events.Span(i)
		for k := range span {
			e := &span[k]
			c.end += e.ReservedDelta()
			c.peak = max(c.peak, c.end)
			if e.Kind.Segment() {
				flushes.Add(i+k, e)
			}
			if e.Kind == trace.OOM {
				c.ooms++
				if c.oom == nil || c.oom.Event != asked {
					c.oom = oomOf(a, i+k, e, &c)
				}
			}
		}
		i += len(span)
	}
	if !collects(a) {
		c.refused, _ = flushes.Refused(c.peak)
	}
	return c
}

// capacity returns what the process is known to have been able to reserve: with the
// failed request, or else the most that it had if it was refused more. It is 0 if
// nothing was refused.
func (c *curve) capacity() int64 {
	switch {
	case c.oom != nil:
		return c.oom.Capacity
	case c.refused > 0:
		return c.peak
	}
	return 0
}

// oomOf returns a request that failed. The process could reserve what it had plus
// the driver's free memory. If that would have been enough, and no reserve of
// expandable segments was set, the process had a limit of its own, which is not
// recorded: it is at least the most that the process ever had.
func oomOf(a *alloc.Allocator, i int, e *trace.Event, c *curve) *whatif.OOM {
	o := &whatif.OOM{Event: i, Size: e.Size, Segment: a.DriverRequest(e.Size), Reserved: c.end, Capacity: c.peak}
	if left := int64(e.Addr); e.Absent&trace.NoAddr == 0 && left >= 0 && (left < o.Segment || strings.Contains(a.Config(), reserved)) {
		o.Capacity = o.Reserved + left
	}
	return o
}
