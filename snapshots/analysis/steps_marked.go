package analysis

import (
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/snapshots/trace"
)

// markedSteps makes steps from annotations.
func (x *Index) markedSteps() []Step {
	var numbered []Step
	ends := make(map[string][]Mark)
	for _, m := range x.Marks() {
		switch {
		case strings.HasPrefix(m.Name, "ProfilerStep#"):
			numbered = append(numbered, Step{Name: m.Name, From: m.From, To: m.To})
		case strings.HasPrefix(m.Name, "Optimizer.step#") && !m.OpenEnd && !x.shortWithin(m):
			ends[m.Name] = append(ends[m.Name], m)
		}
	}
	if len(numbered) > 0 {
		return numbered
	}
	return between(x.fromOneLine(mostFrequent(ends)))
}

// shortWithin reports whether memory ran out within a mark: what it marks did not
// come to its end.
func (x *Index) shortWithin(m Mark) bool {
	at, _ := slices.BinarySearch(x.oomEvents, int32(m.From))
	return at < len(x.oomEvents) && int(x.oomEvents[at]) < m.To
}

// mostFrequent returns the marks of the name that most have.
func mostFrequent(marks map[string][]Mark) []Mark {
	var best string
	for name, those := range marks {
		if len(those) > len(marks[best]) || len(those) == len(marks[best]) && name < best {
			best = name
		}
	}
	return marks[best]
}

// fromOneLine leaves the marks of one of the lines that call for a step: a program
// that trains two models may have two optimizers of one kind, and one turn of its loop
// is one step. Optimizers that allocate nothing in most of their steps do not tell
// from where they are called, and then all marks stay.
func (x *Index) fromOneLine(marks []Mark) []Mark {
	by := make(map[trace.FrameID][]Mark)
	var best trace.FrameID
	told := 0
	called := x.stepCalls()
	for _, m := range marks {
		at, line := called(m.From)
		if at >= m.To {
			continue
		}
		told++
		if by[line] = append(by[line], m); len(by[line]) >= len(by[best]) {
			best = line
		}
	}
	if len(by) < 2 || 2*told < len(marks) {
		return marks
	}
	return by[best]
}

// stepCalls returns a function that finds the first event from a place on of which
// the line is known that called for an optimizer's step, and that line. Marks may
// overlap, and events share stacks: places must ascend, so that each event and each
// stack is looked at once.
func (x *Index) stepCalls() func(from int) (event int, line trace.FrameID) {
	lineOf := once(func(stack trace.StackID) trace.FrameID { return iteration.StepLine(x.tables, x.Code(), stack) })
	at := 0
	return func(from int) (int, trace.FrameID) {
		for at = max(at, from); at < x.events.Len(); at++ {
			if line := lineOf(x.events.At(at).Stack); line != 0 {
				return at, line
			}
		}
		return at, 0
	}
}

// between makes steps from the stretches that end with a mark. The steps do not take
// its name, because that mark is open only at their ends.
func between(ends []Mark) []Step {
	var steps []Step
	from := 0
	for k, m := range ends {
		if m.To > 0 { // otherwise the step ended before the first event that is kept
			steps = append(steps, Step{Name: stepName(int64(k + 1)), From: from, To: m.To})
		}
		from = m.To
	}
	return steps
}
