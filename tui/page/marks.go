package page

import (
	"cmp"
	"slices"

	"memtop/snapshots/analysis"
)

// Mark is a line between events: a range that the program named begins or
// ends there.
type Mark struct {
	Event int // stands before this event
	Name  string
	End   bool
}

// marksOf returns the ends of all ranges in the order of events. Where one
// ends and another begins the end comes first.
func marksOf(x *analysis.Index) []Mark {
	ranges := x.Marks()
	marks := make([]Mark, 0, 2*len(ranges))
	for i := range ranges {
		r := &ranges[i]
		if !r.OpenStart {
			marks = append(marks, Mark{r.From, r.Name, false})
		}
		if !r.OpenEnd {
			marks = append(marks, Mark{r.To, r.Name, true})
		}
	}
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.Event, b.Event) })
	return marks
}
