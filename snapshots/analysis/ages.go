package analysis

import "memtop/snapshots/trace"

// # Ages in steps
//
// The age of an allocation is the number of the step now minus that of the step
// it was made in. Numbers are the program's own, so that steps that nobody saw
// count as well: those whose events were dropped, and those in a gap. Where it
// is not known when something was made, its age is the least that it can be.

// age returns how many steps began since an allocation was made, and whether
// that is only the least that it can be.
func (d *describer) age(a *trace.Allocation) (int64, bool) {
	begins := d.dates.begins
	if len(begins) == 0 {
		return -1, false
	}
	if a.Open < 0 {
		return max(0, d.now-begins[0].number), true
	}
	if g := d.index.gapAt(a.Open); g != nil {
		return max(0, d.now-d.dates.stepUntil(g.To)), true
	}
	if a.Open < int(begins[0].event) {
		return max(0, d.now-begins[0].number+1), true
	}
	return max(0, d.now-d.dates.stepAt(a.Open)), false
}

// gapAt returns the gap that an event was made up for, nil where none was.
func (x *Index) gapAt(event int) *trace.Gap {
	if x.trace.Live == nil {
		return nil
	}
	for i := range x.trace.Live.Gaps {
		if g := &x.trace.Live.Gaps[i]; g.Device == x.device.ID && g.From <= event && event < g.To {
			return g
		}
	}
	return nil
}
