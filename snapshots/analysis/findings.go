package analysis

import "memtop/snapshots/trace"

// Severity ranks a finding.
type Severity uint8

// The severities: Info is worth knowing, Warning is worth acting on, Problem is
// why somebody opened the file.
const (
	Info Severity = iota
	Warning
	Problem
)

// String returns the severity's name.
func (s Severity) String() string { return [...]string{"info", "warning", "problem"}[s] }

// Finding is one sentence about what is wrong, or worth knowing, with numbers.
type Finding struct {
	Severity Severity
	Text     string
	Event    int           // where to look, −1 before the first event, NoEvent when nowhere
	Stack    trace.StackID // whose doing it is, 0 when nobody's
}

// NoEvent is the event of a finding that is about no moment.
const NoEvent = -2

// Findings returns what a hurried reader should know, the most severe first.
func (x *Index) Findings() []Finding {
	x.lazy.findOnce.Do(func() { x.lazy.findings = x.find() })
	return x.lazy.findings
}

func (x *Index) find() []Finding { return nil }

// Growth is memory that a stack holds more of after every step.
type Growth struct {
	Stack trace.StackID
	Bytes int64 // per step
}
