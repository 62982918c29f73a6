package trace

import "fmt"

// Problem is one thing in a trace that contradicts the rest of it.
type Problem struct {
	Device int
	Event  int // the number of events when it is about the final state
	Reason string
}

// String returns the problem as one line.
func (p Problem) String() string {
	return fmt.Sprintf("device %d, event %d: %s", p.Device, p.Event, p.Reason)
}

// Problems is a list of problems that stays small however bad the trace is.
type Problems struct {
	First []Problem // those met first, at most [ProblemsKept]
	Count int       // of all that were met
}

// ProblemsKept is how many problems are kept in full.
const ProblemsKept = 100

// Add notes a problem. The text is made only for those that are kept.
func (p *Problems) Add(device, event int, format string, values ...any) {
	p.Count++
	if len(p.First) < ProblemsKept {
		p.First = append(p.First, Problem{device, event, fmt.Sprintf(format, values...)})
	}
}
