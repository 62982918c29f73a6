package trace

import "fmt"

// Problem is one contradiction within a trace.
type Problem struct {
	Device int
	Event  int // the number of events when it is about the final state
	Reason string
}

// String returns the problem as one line.
func (p Problem) String() string {
	return fmt.Sprintf("device %d, event %d: %s", p.Device, p.Event, p.Reason)
}

// Problems is a list of problems of limited length, and a count of all.
type Problems struct {
	First []Problem // the first ones, at most [ProblemsKept]
	Count int       // of all problems
}

// ProblemsKept is how many problems a list keeps in full.
const ProblemsKept = 100

// Add notes a problem. It makes the text only if the list keeps the problem.
func (p *Problems) Add(device, event int, format string, values ...any) {
	p.Count++
	if len(p.First) < ProblemsKept {
		p.First = append(p.First, Problem{device, event, fmt.Sprintf(format, values...)})
	}
}
