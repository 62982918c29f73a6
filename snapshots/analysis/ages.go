package analysis

import "memtop/snapshots/trace"

// # Ages in steps
//
// The age of an allocation is the number of the step now minus that of the step
// it was made in. Numbers are the program's own, so that steps that nobody saw
// count as well: those whose events were dropped, and those in a gap. Where it
// is not known when something was made, its age is the least that it can be.

// age returns how many steps began since an allocation was made.
func (d *describer) age(a *trace.Allocation) (int64, bool) {
	if len(d.dates.begins) == 0 {
		return -1, false
	}
	if a.Open < 0 {
		return max(0, d.now-d.dates.begins[0].number), true
	}
	if a.Open < int(d.dates.begins[0].event) {
		return max(0, d.now-d.dates.begins[0].number+1), true
	}
	return max(0, d.now-d.dates.stepAt(a.Open)), false
}
