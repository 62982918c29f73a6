package analysis

import (
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
	for _, i := range x.oomEvents {
		if m.From <= int(i) && int(i) < m.To {
			return true
		}
	}
	return false
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
	for _, m := range marks {
		line := x.stepLine(m)
		if line == 0 {
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

// stepLine returns the line that called for the optimizer's step within a mark, 0
// where no event tells.
func (x *Index) stepLine(m Mark) trace.FrameID {
	seen := trace.StackID(0)
	for i := m.From; i < m.To; i++ {
		stack := x.events.At(i).Stack
		if stack <= trace.EmptyStack || stack == seen {
			continue
		}
		seen = stack
		if line := iteration.StepLine(x.tables, x.Code(), stack); line != 0 {
			return line
		}
	}
	return 0
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
