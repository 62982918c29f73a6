package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Mark is a range that the program named.
type Mark struct {
	Name       string
	Device     int
	Start, End int64 // microseconds since the epoch
	From, To   int   // the events [From, To) that happened within
	Depth      int   // how many marks of this device are around it
	// OpenStart and OpenEnd say that the range began before the first, or ended
	// after the last annotation that was kept.
	OpenStart, OpenEnd bool
}

// SettingChanges returns the events, from event from on, at which the program
// began to use another value of a setting.
func (x *Index) SettingChanges(from int) []int {
	var changes []int
	first, _ := slices.BinarySearch(x.programEvents, int32(from))
	for _, i := range x.programEvents[first:] {
		if x.events.At(int(i)).Kind == trace.SettingChanged {
			changes = append(changes, int(i))
		}
	}
	return changes
}

// Marks returns the ranges annotated on this device, sorted by start. An END
// closes the latest open START of the same name and device.
func (x *Index) Marks() []Mark {
	return x.kept.marks.get(x, func([]Mark) []Mark { return x.findMarks() })
}

func (x *Index) findMarks() []Mark {
	var marks []Mark
	open := make(map[trace.StringID][]int)
	for _, a := range x.trace.Annotations {
		if int(a.Device) != x.device.ID && a.Device >= 0 {
			continue
		}
		waiting := open[a.Name]
		switch x.tables.String(a.Stage) {
		case "START":
			open[a.Name] = append(waiting, len(marks))
			marks = append(marks, Mark{Name: x.tables.String(a.Name), Device: int(a.Device), Start: a.Time, OpenEnd: true})
		case "END":
			if len(waiting) == 0 {
				marks = append(marks, Mark{Name: x.tables.String(a.Name), Device: int(a.Device), End: a.Time, OpenStart: true})
				continue
			}
			m := &marks[waiting[len(waiting)-1]]
			m.End, m.OpenEnd = a.Time, false
			open[a.Name] = waiting[:len(waiting)-1]
		}
	}
	for i := range marks {
		x.locate(&marks[i])
	}
	slices.SortStableFunc(marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Start, b.Start), cmp.Compare(b.To, a.To))
	})
	nest(marks)
	return marks
}

// locate finds the events within a mark.
func (x *Index) locate(m *Mark) {
	m.To = x.events.Len()
	if !m.OpenStart {
		m.From = x.EventAtTime(m.Start)
	}
	if !m.OpenEnd {
		m.To = max(m.From, x.EventAtTime(m.End+1))
	}
}

// nest counts for each mark the marks around it.
func nest(marks []Mark) {
	var around []*Mark
	for i := range marks {
		m := &marks[i]
		for len(around) > 0 && around[len(around)-1].To <= m.From && around[len(around)-1].From < m.From {
			around = around[:len(around)-1]
		}
		m.Depth = len(around)
		around = append(around, m)
	}
}

// Step is one iteration of the program.
type Step struct {
	Name     string
	From, To int   // events [From, To)
	Number   int64 // the program's own, 0 when it gave none
}

// Steps returns the program's iterations: those that our engine or torch.profiler
// numbered, else the stretches between the ends of the most frequent optimizer
// step (of one line, where several lines call optimizers of one kind), else the iterations that memtop inferred, see StepsInferred.
func (x *Index) Steps() []Step { return x.stepList().steps }

// StepsInferred returns the evidence from which memtop inferred the steps. It is
// [iteration.None] if the program marked its steps or there are none.
func (x *Index) StepsInferred() iteration.Evidence { return x.stepList().inferred }

func (x *Index) stepList() *stepList {
	return x.kept.steps.get(x, func(l *stepList) *stepList {
		if x.kinds[trace.StepBegin] > 0 {
			if l != nil && l.read == 0 {
				l = nil // its steps were marked or inferred
			}
			return l.advance(x)
		}
		switch marked := x.markedSteps(); {
		case len(marked) > 0 || x.trace.Live != nil || !x.History():
			return &stepList{steps: marked}
		default:
			return x.inferSteps()
		}
	})
}

// inferSteps makes steps from repeating events.
func (x *Index) inferSteps() *stepList {
	found, evidence := iteration.Infer(iteration.Trace{
		Events: x.events, Tables: x.tables, Code: x.Code(),
	})
	l := &stepList{inferred: evidence, steps: make([]Step, len(found))}
	for i, s := range found {
		l.steps[i] = Step{Name: "step " + quantity.Count(i+1) + " (inferred)", From: s.From, To: s.To}
	}
	return l
}

// stepList has the steps that a program with our engine marked.
type stepList struct {
	steps []Step
	read  int  // of the program's events
	open  bool // the last step has not ended yet
	// inferred is the evidence for inferred steps, if the program marked none.
	inferred iteration.Evidence
}

// advance returns the list with the steps that came since. Readers may still hold
// the old list, so advance copies it: the last step changes when it ends.
func (l *stepList) advance(x *Index) *stepList {
	if l != nil && l.read == len(x.programEvents) && !l.open {
		return l
	}
	next := new(stepList)
	if l != nil {
		*next = *l
		next.steps = append(make([]Step, 0, len(l.steps)+len(l.steps)/8+8), l.steps...)
	}
	for ; next.read < len(x.programEvents); next.read++ {
		next.add(int(x.programEvents[next.read]), x)
	}
	if next.open {
		next.steps[len(next.steps)-1].To = x.events.Len()
	}
	return next
}

func (l *stepList) add(i int, x *Index) {
	switch e := x.events.At(i); {
	case e.Kind == trace.StepBegin:
		if l.open {
			l.steps[len(l.steps)-1].To = i // it failed
		}
		l.steps = append(l.steps, Step{stepName(e.Size), i, x.events.Len(), e.Size})
		l.open = true
	case e.Kind == trace.StepEnd && len(l.steps) > 0:
		l.steps[len(l.steps)-1].To = i + 1
		l.open = false
	}
}

// stepName names a step by its number, which is counted from one.
func stepName(number int64) string {
	if number <= 0 {
		return "step"
	}
	return "step " + quantity.Count(int(number))
}
