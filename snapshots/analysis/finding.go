package analysis

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// Severity ranks a finding.
type Severity uint8

// The severities. A problem is why users open a file, a warning is worth acting
// on.
const (
	Info Severity = iota
	Warning
	Problem
)

// String returns the severity's name.
func (s Severity) String() string { return [...]string{"info", "warning", "problem"}[s] }

// FindingKind says what a finding is about.
type FindingKind uint8

// The kinds of findings.
const (
	LeakFinding FindingKind = iota // of a site, in a program that counts its steps
	ShortageFinding
	PeakFinding
	CategoryFinding
	GrowthFinding
	FragmentationFinding
	RoundingFinding
	TruncationFinding
	LostHistoryFinding
	HeldBeforeFinding
	UnrecordedFinding
	ContradictionFinding
	PendingFreeFinding
	PrivatePoolFinding
)

// String returns the kind's name in JSON.
func (k FindingKind) String() string {
	return [...]string{
		"leak", "out_of_memory", "peak", "category", "growth", "fragmentation", "rounding", "truncation", "lost_history", "held_before",
		"unrecorded", "contradiction", "pending_free", "private_pool",
	}[k]
}

// Finding is something that is wrong, or worth knowing, with its numbers. Pages
// and reports show the same list of them.
type Finding struct {
	Kind       FindingKind
	Severity   Severity
	Bytes      int64 // that it is about, 0 where it is about none
	Evidence   string
	Remedy     string // what helps, "" where nothing is known to
	Confidence Certainty
	Where      Where

	joint string // that connects evidence and remedy into one sentence, "" for two sentences
}

// Where says what of a trace to look at.
type Where struct {
	Event int           // −1 is before the first event, NoEvent none
	Stack trace.StackID // 0 is none
}

// NoEvent is the event of a finding that is about no moment.
const NoEvent = -2

// Text returns the finding in whole sentences.
func (f *Finding) Text() string {
	if f.Remedy == "" {
		return f.Evidence + "."
	}
	return f.Evidence + cmp.Or(f.joint, ". ") + f.Remedy + "."
}

// Findings returns what a hurried reader should know, the most severe first.
func (x *Index) Findings() []Finding {
	return x.kept.findings.get(x, func([]Finding) []Finding {
		f := &finder{index: x, summary: x.Summary()}
		f.leaks()
		f.ooms()
		f.peak()
		f.advice()
		f.grown()
		f.fragmented()
		f.cut()
		f.lost()
		f.heldBefore()
		f.unrecorded()
		f.inconsistent()
		f.waiting()
		f.pools()
		slices.SortStableFunc(f.found, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
		return f.found
	})
}

// finder gathers findings. Each of its methods looks for one kind.
type finder struct {
	index   *Index
	summary Summary
	found   []Finding
}

// add takes a finding, which is certain unless it says otherwise.
func (f *finder) add(found Finding) {
	found.Confidence = cmp.Or(found.Confidence, Certain)
	f.found = append(f.found, found)
}

// watched reports whether the trace is of a program with a probe, which counts
// its steps, and whose recording begins late by nature.
func (f *finder) watched() bool { return f.index.trace.Live != nil }
