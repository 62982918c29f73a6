package analysis

import (
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

// LastStepOf returns the last step, nil if no step has ended. It also returns nil
// if memory ran out since, because then the end of the trace matters.
func LastStepOf(x *Index) *LastStep {
	c := x.calendar()
	if len(c.Ends) == 0 || x.kinds[trace.StepEnd] == 0 {
		return nil
	}
	end := c.Ends[len(c.Ends)-1]
	if n := len(x.oomEvents); n > 0 && x.oomEvents[n-1] > end.Event {
		return nil
	}
	s := &LastStep{Number: end.Number, End: int(end.Event)}
	if k := sort.Search(len(c.Begins), func(k int) bool { return c.Begins[k].Event > end.Event }); k > 0 {
		s.From = int(c.Begins[k-1].Event)
	}
	s.Peak, _ = x.Highest(s.From, s.End+1)
	return s
}

// LastStepEnd returns the event that ended the last step, or the last event of
// the trace if there is no such step.
func LastStepEnd(x *Index) int {
	if s := LastStepOf(x); s != nil {
		return s.End
	}
	return x.End()
}
