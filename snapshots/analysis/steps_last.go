package analysis

import (
	"slices"
	"sort"

	"github.com/memtop/memtop/snapshots/trace"
)

// LastStep is the last step that a program has ended. Its moments are the ones to
// look at while the program runs: the end of a step shows the memory that the
// program keeps, and the peak shows the memory that it needs. At other moments of
// a step, most memory only comes and goes.
type LastStep struct {
	Number    int64
	From, End int // its first and its last event
	Peak      int // the event with the most live
}

// LastStepOf returns the last step whose events are all known: of a program that
// measures only some steps, the last that it measured. It returns nil if no step
// has ended. It also returns nil if memory ran out since, because then the end of
// the trace matters.
func LastStepOf(x *Index) *LastStep {
	if _, known := lastEnd(x); !known {
		return nil
	}
	c := x.calendar()
	s := x.lastMeasured(c)
	for k := len(c.Ends) - 1; k >= 0 && s == nil; k-- {
		s = x.wholeStep(c, k)
	}
	if s != nil {
		s.Peak, _ = x.Highest(s.From, s.End+1)
	}
	return s
}

// lastMeasured returns the last step that the program measured and whose events are
// all known, nil if there is none.
func (x *Index) lastMeasured(c *calendar) *LastStep {
	for i := range slices.Backward(x.trace.Steps) {
		step := &x.trace.Steps[i]
		if step.Device != x.device.ID || !step.Measured() {
			continue
		}
		k := sort.Search(len(c.Ends), func(k int) bool { return c.Ends[k].Number >= step.Number })
		if k < len(c.Ends) && c.Ends[k].Number == step.Number {
			if s := x.wholeStep(c, k); s != nil {
				return s
			}
		}
	}
	return nil
}

// wholeStep returns the step with an end, nil if some of its events are missing.
func (x *Index) wholeStep(c *calendar, k int) *LastStep {
	end := c.Ends[k]
	s := &LastStep{Number: end.Number, End: int(end.Event)}
	if k := sort.Search(len(c.Begins), func(k int) bool { return c.Begins[k].Event > end.Event }); k > 0 {
		s.From = int(c.Begins[k-1].Event)
	}
	if slices.ContainsFunc(x.gapsOf(), func(g trace.Gap) bool { return g.From < s.End && g.To > s.From }) {
		return nil
	}
	return s
}

// LastStepEnd returns the event that ended the last step, or the last event of
// the trace if there is no such step. Of that step no more than what it left needs
// to be known: a program may look for kept memory after more steps than it measures.
func LastStepEnd(x *Index) int {
	if end, known := lastEnd(x); known {
		return end
	}
	return x.End()
}

// lastEnd returns the event that ended the last step, if memory did not run out
// since.
func lastEnd(x *Index) (event int, known bool) {
	ends := x.calendar().Ends
	if len(ends) == 0 || x.kinds[trace.StepEnd] == 0 {
		return 0, false
	}
	event = int(ends[len(ends)-1].Event)
	n := len(x.oomEvents)
	return event, n == 0 || int(x.oomEvents[n-1]) <= event
}
