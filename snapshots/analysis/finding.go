package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Severity ranks a finding.
type Severity uint8

// The severities. Users open a file because of a problem. A warning is worth
// acting on.
const (
	Info Severity = iota
	Warning
	Problem
)

// String returns the severity's name.
func (s Severity) String() string { return [...]string{"info", "warning", "problem"}[s] }

// FindingKind says what a finding is about.
type FindingKind = savings.Kind

// The kinds of findings, except those of package savings.
var (
	EndedFinding         = &FindingKind{Name: "ended"}
	ShortageFinding      = &FindingKind{Name: "out_of_memory"}
	LeftByFailureFinding = &FindingKind{Name: "left_by_failure", Change: "no exception kept"}
	ContradictionFinding = &FindingKind{Name: "contradiction"}
	TruncationFinding    = &FindingKind{Name: "truncation"}
	UnevenFinding        = &FindingKind{Name: "uneven_devices", Change: "the same on each device"}
	LostHistoryFinding   = &FindingKind{Name: "lost_history"}
	UnrecordedFinding    = &FindingKind{Name: "unrecorded"}
	LeakFinding          = &FindingKind{Name: "leak"}
	HostGrowthFinding    = &FindingKind{Name: "host_growth"}
	GrowthFinding        = &FindingKind{Name: "growth"}
	KeptFinding          = &FindingKind{Name: "kept"}
	GatheredFinding      = &FindingKind{Name: "gathered"}
	StaysGatheredFinding = &FindingKind{Name: "stays_gathered"}
	PeakFinding          = &FindingKind{Name: "peak"}
	ExpandableFinding    = &FindingKind{Name: "expandable_segments", Change: "expandable_segments:True"}
	SplitLimitFinding    = &FindingKind{Name: "split_limit", Change: "no max_split_size_mb with expandable segments"}
	HeldBeforeFinding    = &FindingKind{Name: "held_before"}
	PendingFreeFinding   = &FindingKind{Name: "pending_free"}
	FlushFinding         = &FindingKind{Name: "driver_refused"}
	EmptyCacheFinding    = &FindingKind{Name: "empty_cache"}
	StreamsFinding       = &FindingKind{Name: "streams"}
	PrivatePoolFinding   = &FindingKind{Name: "private_pool"}
)

// Finding is a fault, or a fact worth knowing, with its numbers. Pages and
// reports show the same list of findings.
type Finding struct {
	Kind       *FindingKind
	Severity   Severity
	Bytes      int64 // the finding is about these bytes; 0 for none
	Saving     int64 // bytes that the remedy would save, 0 if not known
	Most       int64 // bytes that it would save at most, 0 if Saving is exact
	PerStep    int64 // bytes by which memory grows with each step, 0 if it does not or steps are not known
	Evidence   string
	Remedy     string // what helps, as a clause or as a sentence; "" if nothing is known to help
	Confidence Certainty
	Where      Where
}

// Where is the place in a trace that a finding is about.
type Where struct {
	Event int           // −1 is before the first event, NoEvent none
	Stack trace.StackID // 0 is none
}

// NoEvent is the event of a finding that has no moment.
const NoEvent = -2

// Text returns the finding in whole sentences.
func (f *Finding) Text() string {
	text := f.Evidence
	if f.Remedy != "" {
		joint := ". "
		if c := f.Remedy[0]; c >= 'a' && c <= 'z' {
			joint = "; "
		}
		text += joint + f.Remedy
		if f.Saving > 0 && f.Saving != f.Bytes {
			text += ", which saves " + quantity.Bytes(f.Saving)
			if most := quantity.Bytes(f.Most); f.Most > f.Saving && most != quantity.Bytes(f.Saving) {
				text += " to " + most
			}
		}
	}
	return text + "."
}

// mostFindings is how many a hurried reader takes in.
const mostFindings = 5

// Findings returns at most five findings for a hurried reader: first the faults
// and the facts that make numbers doubtful, then the findings that would save the
// most.
func (x *Index) Findings() []Finding {
	return shown(x.allFindings())
}

// shown cuts findings that are in their order.
func shown(all []Finding) []Finding { return all[:min(len(all), mostFindings)] }

// Savings returns the findings that say how to need less memory, the largest
// saving first.
func (x *Index) Savings() []Finding {
	all := slices.DeleteFunc(slices.Clone(x.allFindings()), func(f Finding) bool { return f.Saving <= 0 || f.Remedy == "" })
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(b.Saving, a.Saving) })
	return all
}

func (x *Index) allFindings() []Finding {
	return x.kept.findings.get(x, func([]Finding) []Finding {
		f := &finder{index: x, summary: x.Summary()}
		finds := []func(){f.ooms, f.inconsistent, f.cut, f.lost}
		if l := x.trace.Live; l == nil || !l.Looking { // else it is not known what memory is for, nor what a step's peak is
			finds = append(finds, f.unrecorded, f.leaks, f.hostGrows, f.save, f.grown, f.keepers, f.gathered, f.flushed, f.pools, f.streams, f.waiting, f.heldBefore, f.peak)
		}
		for _, find := range finds {
			find()
		}
		return append(f.ended(), f.ordered()...)
	})
}

// ordered returns the findings in their order.
func (f *finder) ordered() []Finding {
	slices.SortStableFunc(f.found, func(a, b Finding) int {
		return cmp.Or(int(b.Severity)-int(a.Severity), cmp.Compare(b.Saving, a.Saving))
	})
	return f.found
}

// finder gathers findings. Each of its methods looks for one kind.
type finder struct {
	index   *Index
	summary Summary
	highest *heldFacts // see top
	found   []Finding
}

// add adds a finding. The finding is certain unless it says otherwise.
func (f *finder) add(found Finding) {
	found.Confidence = cmp.Or(found.Confidence, Certain)
	f.found = append(f.found, found)
}

// watched reports whether the trace is of a program with a probe. Such a program
// counts its steps, and its recording always begins late.
func (f *finder) watched() bool { return f.index.trace.Live != nil }
