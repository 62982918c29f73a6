package analysis

import (
	"sort"

	"memtop/snapshots/trace"
)

// # Ages in steps
//
// The age of an allocation is the number of the step now minus that of the step
// it was made in. Numbers are the program's own, so that steps that nobody saw
// count as well: those whose events were dropped, and those in a gap. Where it
// is not known when something was made, its age is the least that it can be.

// begun is a step's first event.
type begun struct {
	event  int32
	number int64
}

// begins returns where steps begin, in order. Steps without numbers are counted.
func (x *Index) begins() []begun {
	var all []begun
	for _, i := range x.programEvents {
		if e := x.events.At(int(i)); e.Kind == trace.StepBegin {
			all = append(all, begun{i, e.Size})
		}
	}
	if len(all) == 0 {
		for k, s := range x.Steps() {
			all = append(all, begun{int32(s.From), int64(k + 1)})
		}
	}
	return all
}

// StepAt returns the number of the step that an event is in, or that came last
// before it; 0 before the first and where no steps are known.
func (x *Index) StepAt(event int) int64 { return stepAt(x.begins(), event) }

func stepAt(begins []begun, event int) int64 {
	n := sort.Search(len(begins), func(k int) bool { return int(begins[k].event) > event })
	if n == 0 {
		return 0
	}
	return begins[n-1].number
}
