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

// FindingKind says what a finding is about. Its texts are also the documentation:
// docs/answers.md is generated from them.
type FindingKind struct {
	Name   string // in JSON
	Change string // the remedy in a few words; "" if each finding has its own
	Speaks string // the condition for such a finding
	Silent string // cases that look like it but give no finding
	Saving string // how the saving is computed, "" if there is none
}

// The kinds of findings, except those of package savings.
var (
	EndedFinding = &FindingKind{
		Name: "ended", Speaks: "it is a program's black box: how the program ended and what happened last; before all others",
	}
	ShortageFinding = &FindingKind{
		Name: "out_of_memory", Speaks: "a request ran out of memory; the last of them first, three at most",
		Saving: "what would have made it fit is listed with it, each alone",
	}
	LeftByFailureFinding = &FindingKind{
		Name: "left_by_failure", Change: "no exception kept",
		Speaks: "a hundredth of the peak was made by the step that ran out of memory, and is held after all later steps",
		Silent: "no step follows, or its memory is gone", Saving: "these blocks",
	}
	ContradictionFinding = &FindingKind{
		Name: "contradiction", Speaks: "events and final segments do not fit together, so numbers over time are approximate", Silent: "the file is cut off, which explains it",
	}
	TruncationFinding = &FindingKind{Name: "truncation", Speaks: "the file ends early, so levels over time are approximate"}
	UnevenFinding     = &FindingKind{
		Name: "uneven_devices", Change: "the same on each device",
		Speaks: "at its peak a device holds a fifth more of its own than the median of the program's other devices, and 64 MiB",
		Silent: "the others hold under a fiftieth of it: they take no part", Saving: "what it holds above the mean, if a model is split over the devices; a part of a model can be moved",
	}
	LostHistoryFinding = &FindingKind{
		Name: "lost_history", Speaks: "the beginning of the events is certainly or probably lost", Silent: "a program is watched, which begins late by nature, or memtop's agent wrote the file",
	}
	UnrecordedFinding = &FindingKind{
		Name: "unrecorded", Speaks: "there are no stacks, or no history", Silent: "a program is watched",
	}
	LeakFinding = &FindingKind{
		Name: "leak", Speaks: "a site of a program that counts its steps grows (docs/answers.md)", Silent: "its trend is not decided",
		Saving: "what the site holds",
	}
	HostGrowthFinding = &FindingKind{
		Name: "host_growth", Speaks: "memory of the host grows in each eighth of the last steps, of a kind that the kernel cannot drop (docs/answers.md)",
		Silent: "it rises less than 16 MiB or a hundredth of the whole; it is tensors of a processor whose steps were all seen: leaks judge their lines",
	}
	GrowthFinding = &FindingKind{
		Name: "growth", Speaks: "memory of one stack grows in every step, or from each eighth of the trace to the next", Silent: "a program is watched: leaks rest on more",
		Saving: "what the stack holds",
	}
	KeptFinding = &FindingKind{
		Name: "kept", Speaks: "the writer noted what keeps memory, and one keeper has 5 % of the peak: a container, the graph of what is carried on, a cycle, a function's context, or gradients that no optimizer reads",
		Silent: "a program is watched: leaks name keepers",
	}
	GatheredFinding = &FindingKind{
		Name: "gathered", Speaks: "gathered weights are 10 % of the peak, and as many as nine of ten that there are", Silent: "those of few layers are gathered at a time, or they lie in one buffer",
	}
	WarmUpFinding = &FindingKind{
		Name: "warm_up", Speaks: "the first of at least three steps needed a tenth more than any later one, and what it left is still cached",
		Silent: "steps are not known", Saving: "what the first step needed more, as far as it is still cached",
	}
	PeakFinding          = &FindingKind{Name: "peak", Speaks: "always: how high, when, and the line that held most; of a program that is watched, in its last step"}
	FragmentationFinding = &FindingKind{
		Name: "fragmentation", Speaks: "memory ran out while more than a fifth of what was reserved was free at the end", Silent: "memory did not run out: cached memory alone harms no one",
	}
	ExpandableFinding = &FindingKind{
		Name: "expandable_segments", Change: "expandable_segments:True",
		Speaks: "a fifth of what was reserved at most was never in use at once, or another finding is about fragmentation; and the recorded requests, replayed with expandable segments, reserve a twentieth less",
		Silent: "the replay is not exact, there are more than a million events, or segments are expandable already", Saving: "what the replay reserves less at its peak: it is no memory of the program's own",
	}
	SplitLimitFinding = &FindingKind{
		Name: "split_limit", Change: "no max_split_size_mb with expandable segments",
		Speaks: "max_split_size_mb is set beside expandable segments, and without it the recorded requests reserve a twentieth less",
		Silent: "the replay is not exact, or there are more than a million events", Saving: "what the replay reserves less at its peak",
	}
	RoundingFinding = &FindingKind{
		Name: "rounding", Speaks: "rounding takes a tenth of what is in use, and 64 MiB", Saving: "what rounding takes",
	}
	HeldBeforeFinding = &FindingKind{
		Name: "held_before", Speaks: "a fifth of the peak is from before recording, and no rule knows what it is for", Silent: "a program is watched",
	}
	PendingFreeFinding = &FindingKind{
		Name: "pending_free", Speaks: "a twentieth of what is reserved is freed and waits for another stream", Saving: "what waits",
	}
	FlushFinding = &FindingKind{
		Name: "driver_refused", Speaks: "segments went back to the driver right before another was obtained for the same request: the driver had refused it",
		Silent: "nothing was obtained right after, or another call gave the segments back",
	}
	EmptyCacheFinding = &FindingKind{
		Name: "empty_cache", Speaks: "one line gave segments back by empty_cache at least four times, and in one of ten steps", Silent: "it was called less often or at several lines, as between phases of a program",
	}
	StreamsFinding = &FindingKind{
		Name: "streams", Speaks: "a fifth of what is reserved is cached for four streams or more beside the default one", Silent: "it is in private pools",
	}
	PrivatePoolFinding = &FindingKind{
		Name: "private_pool", Speaks: "private pools leave a twentieth of what is reserved unused", Saving: "none: a graph uses it whenever it runs",
	}
)

// FindingKinds returns all kinds, in the order of their findings.
func FindingKinds() []*FindingKind {
	all := []*FindingKind{
		EndedFinding, ShortageFinding, LeftByFailureFinding, UnevenFinding, ContradictionFinding, TruncationFinding, LostHistoryFinding, UnrecordedFinding, LeakFinding, HostGrowthFinding, GrowthFinding, KeptFinding, GatheredFinding,
	}
	for i := range savings.Kinds {
		all = append(all, savingKinds[&savings.Kinds[i]])
	}
	return append(all, WarmUpFinding, FragmentationFinding, ExpandableFinding, SplitLimitFinding, FlushFinding, EmptyCacheFinding, PrivatePoolFinding, StreamsFinding, PendingFreeFinding, RoundingFinding, HeldBeforeFinding, PeakFinding)
}

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
			finds = append(finds, f.unrecorded, f.leaks, f.hostGrows, f.save, f.grown, f.keepers, f.gathered, f.warmUp, f.fragmented, f.flushed, f.pools, f.streams, f.waiting, f.rounded, f.heldBefore, f.peak)
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
