package analysis

import (
	"slices"
	"sort"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Ages in steps
//
// The age of an allocation is the number of the current step minus the number of
// the step that made it. The numbers are the program's own, so steps without
// events count as well: their events were dropped, or lie in a gap. If it is not
// known when an allocation was made, its age is the least that it can be.

// age returns how many steps began since an allocation was made, and whether
// that is only the least that it can be.
func (d *describer) age(a *trace.Allocation) (int64, bool) {
	begins := d.dates.Begins
	if len(begins) == 0 {
		return -1, false
	}
	if a.Open < 0 {
		return max(0, d.now-begins[0].Number), true
	}
	if d.dates.unseenAt(d.gaps, a.Open) {
		return max(0, d.now-d.dates.stepUntil(a.Open)), true
	}
	if a.Open < int(begins[0].Event) {
		return max(0, d.now-begins[0].Number+1), true
	}
	if until, skipped := d.dates.skippedAt(a.Open); skipped {
		return max(0, d.now-until), true
	}
	return max(0, d.now-d.dates.stepAt(a.Open)), false
}

// gapsOf returns the gaps of the index's device, by event.
func (x *Index) gapsOf() []trace.Gap {
	if x.trace.Live == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(x.trace.Live.Gaps), func(g trace.Gap) bool { return g.Device != x.device.ID })
}

// unseenAt reports whether the trace may lack the beginning of the step that an
// event is in. That is so if a gap lies between the last known beginning of a
// step and the event, or contains the event.
func (c *calendar) unseenAt(gaps []trace.Gap, event int) bool {
	n := sort.Search(len(gaps), func(k int) bool { return gaps[k].From > event })
	if n == 0 {
		return false
	}
	begun := sort.Search(len(c.Begins), func(k int) bool { return int(c.Begins[k].Event) > event })
	return begun == 0 || int(c.Begins[begun-1].Event) < gaps[n-1].To
}

// skippedAt reports whether an event may tell of several steps, and the last of
// them: no step was seen to begin between the last one that ended and the event, and
// the next one seen is not the next by number. The program then found what any of
// the steps in between made.
func (c *calendar) skippedAt(event int) (until int64, skipped bool) {
	n := sort.Search(len(c.Ends), func(k int) bool { return int(c.Ends[k].Event) >= event })
	if n == 0 || n == len(c.Ends) {
		return 0, false
	}
	last, next := c.Ends[n-1].Number, c.Ends[n].Number
	return next, next > last+1 && c.stepAt(event) <= last
}
