package page

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
)

// Mark is a line between events: a named range begins or ends there, or a setting
// has a new value from there on.
type Mark struct {
	Event   int // stands before this event
	Name    string
	End     bool
	Setting bool // Name is "key=value"
}

// marksOf returns the begins and ends of all ranges, and the changes, in the
// order of events. If one range ends where another begins, the end comes first.
func marksOf(ranges []analysis.Mark, changes []Mark) []Mark {
	if len(ranges) == 0 {
		return changes[:len(changes):len(changes)]
	}
	marks := make([]Mark, 0, 2*len(ranges)+len(changes))
	marks = append(marks, changes...)
	for i := range ranges {
		r := &ranges[i]
		if !r.OpenStart {
			marks = append(marks, Mark{Event: r.From, Name: r.Name})
		}
		if !r.OpenEnd {
			marks = append(marks, Mark{Event: r.To, Name: r.Name, End: true})
		}
	}
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.Event, b.Event) })
	return marks
}

// changesOf returns the settings that changed in the events from a given one on.
func changesOf(x *analysis.Index, from int) []Mark {
	var changes []Mark
	t := x.Trace().Tables
	for _, i := range x.SettingChanges(from) {
		note := x.Device().Events.At(i).Note
		changes = append(changes, Mark{Event: i, Name: t.String(t.Notes[note].UserMetadata), Setting: true})
	}
	return changes
}
