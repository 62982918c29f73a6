package analysis

import (
	"fmt"
	"math"
	"slices"

	"memtop/snapshots/trace"
)

// Severity ranks a finding.
type Severity uint8

// The severities. A problem is why somebody opened the file, a warning is
// worth acting on.
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
	Event    int           // where to look; −1 is before the first event, NoEvent nowhere
	Stack    trace.StackID // whose doing it is, 0 when nobody's
}

// NoEvent is the event of a finding that is about no moment.
const NoEvent = -2

// Findings returns what a hurried reader should know, the most severe first.
func (x *Index) Findings() []Finding {
	return x.kept.findings.get(x, func([]Finding) []Finding {
		f := &finder{index: x, summary: x.Summary()}
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

func (f *finder) add(severity Severity, event int, stack trace.StackID, format string, args ...any) {
	f.found = append(f.found, Finding{severity, fmt.Sprintf(format, args...), event, stack})
}

// Percent returns a part of a whole in whole percent, 0 of nothing.
func Percent(part, whole int64) int64 {
	if whole == 0 {
		return 0
	}
	return int64(math.Round(float64(part) / float64(whole) * 100))
}

// share writes a part of a whole in whole percent, and never as nothing.
func share(part, whole int64) string {
	if p := Percent(part, whole); p > 0 || part == 0 {
		return fmt.Sprintf("%d%%", p)
	}
	return "under 1%"
}

// ooms begins with the last, see [Shortage].
func (f *finder) ooms() {
	const shown = 3
	all := f.index.OOMs()
	if len(all) == 0 {
		return
	}
	last, before := all[len(all)-1], all[:len(all)-1]
	if last.Verdict == NotJudged {
		f.index.judge(&last)
	}
	for _, o := range append([]OOM{last}, before[:min(len(before), shown-1)]...) {
		text, stack := "", trace.StackID(0)
		if len(o.Holders) > 0 {
			text = fmt.Sprintf(" The largest holder is %s with %s.", f.index.HolderName(o.Holders[0]), Bytes(o.Holders[0].Bytes))
			stack = o.Holders[0].Stack
		}
		if o.Verdict == Fragmented {
			text += f.index.remedy()
		}
		f.add(Problem, o.Event, stack, "Out of memory at event %s: %s (%s).%s", Count(o.Event), o.Reason, o.Verdict, text)
	}
	if len(all) > shown {
		f.add(Problem, all[shown-1].Event, 0, "%d more requests ran out of memory.", len(all)-shown)
	}
}

func (f *finder) peak() {
	s := &f.summary
	if s.PeakRequested == 0 {
		return
	}
	var what string
	switch {
	case !f.index.History():
		what = Bytes(s.PeakRequested) + " is in use"
	case s.PeakEvent < 0:
		what = "The peak is " + Bytes(s.PeakRequested) + ", before the first event"
	default:
		what = fmt.Sprintf("The peak is %s, at event %s of %s", Bytes(s.PeakRequested), Count(s.PeakEvent), Count(s.Events))
	}
	holders := f.index.peakFacts().holders
	known := KnownHolders(holders)
	if len(known) == 0 || known[0].Stack <= trace.EmptyStack {
		f.add(Info, s.PeakEvent, 0, "%s.", what)
		return
	}
	top, largest := &known[0], "largest part"
	if holders[0].Bytes > top.Bytes {
		largest += " of known origin"
	}
	f.add(Info, s.PeakEvent, top.Stack, "%s; the %s, %s (%s), is from %s.",
		what, largest, Bytes(top.Bytes), share(top.Bytes, s.PeakRequested), f.index.StackName(top.Stack))
}

func (f *finder) grown() {
	for _, g := range f.index.Growth()[:min(len(f.index.Growth()), 3)] {
		severity, how := Warning, fmt.Sprintf("per step, in each of %d", g.Steps)
		if !g.Marked {
			severity, how = Info, "from each eighth of the trace to the next; no steps are marked, so this may be intended"
		}
		f.add(severity, f.index.End(), g.Stack, "Memory from %s grows by %s %s; it now holds %s.",
			f.index.growthName(g), Bytes(g.PerStep), how, Bytes(g.Bytes))
	}
}

func (f *finder) fragmented() {
	m := f.index.finalMap()
	if m.Free > m.Reserved/5 && m.Free > 64<<20 {
		pinned, keeps := 0, int64(0)
		for i := range m.Segments {
			if s := &m.Segments[i]; s.Pin != nil {
				pinned++
				keeps += s.Free
			}
		}
		text := fmt.Sprintf("At the end %s (%d%%) of %s reserved is cached but unused, the largest piece %s; %s could be given back",
			Bytes(m.Free), Percent(m.Free, m.Reserved), Bytes(m.Reserved), Bytes(m.LargestFit()), Bytes(m.Releasable))
		if pinned > 0 {
			text += fmt.Sprintf("; small blocks pin %s segments with %s free", Count(pinned), Bytes(keeps))
		}
		severity := Info
		text += "."
		if m.Releasable < m.Free/2 {
			severity = Warning
			text += f.index.remedy()
		}
		f.add(severity, f.index.End(), 0, "%s", text)
	}
	if m.Rounding > m.Active/10 && m.Rounding > 64<<20 {
		f.add(Warning, f.index.End(), 0, "Rounding wastes %s (%d%%) of the memory in use.", Bytes(m.Rounding), Percent(m.Rounding, m.Active))
	}
}

// cut says what a file that ends early still means. Its segments were written
// first and are those of the end, which its entries do not reach.
func (f *finder) cut() {
	if f.index.trace.Info.Truncated && f.summary.Events > 0 {
		f.add(Warning, f.index.End(), 0, "The file is cut off after event %s: the segments are those of the end that is missing, so levels over time are approximate.", Count(f.index.End()))
	}
}

func (f *finder) lost() {
	if f.index.trace.Info.Truncated {
		return
	}
	if d := f.index.device; d.Base != nil {
		if d.Overflowed {
			f.add(Info, -1, 0, "What came before the first of these events was too much to keep; only its outcome is known.")
		}
		return
	}
	o := f.index.Overflow()
	switch o.Lost {
	case Certain:
		f.add(Warning, -1, 0, "The start of the history is lost: %s. Record with a larger max_entries.", o.Reason)
	case Probable:
		f.add(Warning, -1, 0, "The start of the history is probably lost: %s. A larger max_entries keeps more.", o.Reason)
	case Possible:
		f.add(Info, -1, 0, "Earlier history may be missing: %s. Recording was restarted, or its buffer overflowed.", o.Reason)
	case No:
	}
}
