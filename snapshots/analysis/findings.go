package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/iteration"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Percent returns a part of a whole in whole percent, 0 if the whole is 0.
func Percent(part, whole int64) int64 {
	if whole == 0 {
		return 0
	}
	return int64(math.Round(float64(part) / float64(whole) * 100))
}

// share writes a part of a whole in whole percent. It never writes 0 for a part
// that is not 0.
func share(part, whole int64) string {
	if p := Percent(part, whole); p > 0 || part == 0 {
		return fmt.Sprintf("%d%%", p)
	}
	return "under 1%"
}

// leaks finds the sites that grow in a program that counts its steps, the largest
// first.
func (f *finder) leaks() {
	if !f.watched() {
		return
	}
	const shown = 4
	at := LastStepEnd(f.index)
	found, more, bytes := 0, 0, int64(0)
	for _, s := range f.index.Sites(at) {
		if !s.Trend.Alarming() {
			continue
		}
		if found++; found > shown {
			more, bytes = more+1, bytes+s.Bytes
			continue
		}
		severity := Problem
		if s.Trend == leak.Growing {
			severity = Warning
		}
		f.add(Finding{
			Kind: LeakFinding, Severity: severity, Bytes: s.Bytes, Saving: s.Bytes, Confidence: confidence(s.Trend),
			Where: Where{at, s.ID.Stack()}, Evidence: siteEvidence(&s),
		})
	}
	if more > 0 {
		f.add(Finding{
			Kind: LeakFinding, Severity: Warning, Bytes: bytes, Confidence: Possible, Where: Where{Event: at},
			Evidence: fmt.Sprintf("Memory of %s grows too; they now hold %s", quantity.Plural(more, "more site"), quantity.Bytes(bytes)),
		})
	}
}

// confidence returns how sure it is that a site with an alarming trend leaks.
func confidence(t leak.Trend) Certainty {
	switch t {
	case leak.Unreachable:
		return Certain
	case leak.Suspected:
		return Probable
	default:
		return Possible
	}
}

// siteEvidence says how a site grows, without the last full stop.
func siteEvidence(s *leak.Site) string {
	text := s.Name + ": " + s.Trend.String()
	if s.GrowthPerStep > 0 {
		text += ", " + s.LeastWord() + "+" + quantity.Bytes(s.GrowthPerStep) + " per step"
	}
	if s.StepsToOOM >= 0 {
		text += ", out of memory in " + quantity.Plural(int(s.StepsToOOM), "step")
	}
	if text += "; " + s.LeastWord() + quantity.Bytes(s.Bytes) + " in " + quantity.Plural(s.Count, "tensor"); s.Reason != "" {
		text += ". " + strings.TrimSuffix(s.Reason, ".")
	}
	return text
}

// ooms finds the out-of-memory events. It begins with the last one, see
// [Shortage].
func (f *finder) ooms() {
	const shown = 3
	all := f.index.OOMEvents()
	if len(all) == 0 {
		return
	}
	last, before := all[len(all)-1], all[:len(all)-1]
	for _, o := range append([]OOM{last}, before[:min(len(before), shown-1)]...) {
		holders := f.index.HoldersAt(o.Event)
		f.index.judgeBy(&o, f.index.inferMap(o.Event), holders)
		found := Finding{
			Kind: ShortageFinding, Severity: Problem, Bytes: o.Requested, Where: Where{Event: o.Event},
			Evidence: fmt.Sprintf("Out of memory at event %s: %s (%s)", quantity.Count(o.Event), o.Reason, o.Verdict),
		}
		if rows := LinesOf(f.index, holders, lines.Line, false).Rows; len(rows) > 0 && f.index.hasStacks() {
			found.Evidence += fmt.Sprintf(". The largest holder is %s with %s", rows[0].Name, quantity.Bytes(rows[0].Self))
			found.Where.Stack = f.largestFrom(holders, rows[0].Frame)
		}
		if o.Verdict == Fragmented {
			found.Remedy = f.index.remedy()
		}
		f.add(found)
	}
	f.leftByFailure(last)
	if len(all) > shown {
		f.add(Finding{
			Kind: ShortageFinding, Severity: Problem, Where: Where{Event: all[shown-1].Event},
			Evidence: fmt.Sprintf("%d more requests ran out of memory", len(all)-shown),
		})
	}
}

// leftByFailure finds what a step that ran out of memory had made and a later step still found there, up
// to the end.
func (f *finder) leftByFailure(o OOM) {
	begin, after := -1, -1
	for _, s := range f.index.Steps() {
		if s.From <= o.Event && o.Event < s.To {
			begin = s.From
		}
		if s.From > o.Event {
			after = s.To
		}
	}
	if begin < 0 || after < 0 {
		return
	}
	var bytes, largest int64
	var stack trace.StackID
	for _, a := range f.index.alive(o.Event) {
		if a.Open < begin || a.Close < after {
			continue
		}
		if bytes += a.Size; a.Size > largest {
			largest, stack = a.Size, a.Stack
		}
	}
	if bytes*100 < f.summary.PeakRequested {
		return
	}
	f.add(Finding{
		Kind: LeftByFailureFinding, Severity: Warning, Bytes: bytes, Saving: bytes, Confidence: Probable, Where: Where{o.Event, stack},
		Evidence: fmt.Sprintf("%s of what the step had made that ran out of memory at event %s is still held after all later steps, most from %s",
			quantity.Bytes(bytes), quantity.Count(o.Event), f.index.StackName(stack)),
		Remedy: "an exception that is kept, or a retry within its except, holds the traceback with the variables of the failed step: keep str(e), and go on after the except",
	})
}

func (f *finder) grown() {
	if f.watched() {
		return // leaks rest on more
	}
	growth := slices.DeleteFunc(slices.Clone(f.index.Growth()), f.hangs)
	for _, g := range growth[:min(len(growth), 3)] {
		found := Finding{
			Kind: GrowthFinding, Severity: Warning, Bytes: g.Bytes, Saving: g.Bytes, Confidence: Probable, Where: Where{f.index.End(), g.Stack},
		}
		how := fmt.Sprintf("per step, in each of the last %s", quantity.Plural(g.Steps, "step"))
		if inferred := f.index.StepsInferred(); inferred != iteration.None {
			how += " (inferred from " + inferred.String() + ")"
		}
		if found.PerStep = g.PerStep; !g.Marked {
			found.PerStep, found.Severity, found.Confidence = 0, Info, Possible
			how = "from each eighth of the trace to the next; no steps are marked or can be inferred, so this may be intended"
			if g.Calls {
				how = "from each eighth of the trace to the next, by what different calls of the model make"
			}
		}
		if g.Marked && f.index.verdicts().Stack(g.Stack) == trace.Gradient && f.index.verdicts().Differentiates() {
			found.Remedy = "backward(create_graph=True) makes gradients that hold their own graph, and it holds the tensors that they are of: " +
				"torch.autograd.grad(..., create_graph=True) makes no such cycle"
		}
		held := "it now holds " + quantity.Bytes(g.Bytes)
		if end := heldBy(f.index.holdingsAt(f.index.End()), g.Stack); end < g.Bytes {
			found.Severity, found.Saving, found.Confidence = Info, 0, Possible
			held = fmt.Sprintf("it held %s then, and gave it back since: %s is left at the end", quantity.Bytes(g.Bytes), quantity.Bytes(end))
		}
		from := ""
		if f.index.hasStacks() {
			from = " from " + f.index.StackName(g.Stack)
		}
		found.Evidence = fmt.Sprintf("Memory%s grows by %s %s; %s", from, quantity.Bytes(g.PerStep), how, held)
		f.add(found)
	}
}

// hangs reports whether memory grows because autograd keeps it, which is a finding of
// its own.
func (f *finder) hangs(g Growth) bool {
	return f.index.verdicts().Stack(g.Stack) == trace.Activation &&
		slices.ContainsFunc(f.found, func(other Finding) bool { return other.Kind.Name == "no_grad" })
}

// warmUp compares the first step with the others: autotuning, compiling and the
// first shapes can leave a cache that the program never needs again.
func (f *finder) warmUp() {
	steps := f.index.Steps()
	if len(steps) < 3 || f.watched() {
		return
	}
	event, first := f.index.Highest(steps[0].From, steps[0].To)
	var later int64
	for _, s := range steps[1:] {
		_, peak := f.index.Highest(s.From, s.To)
		later = max(later, peak)
	}
	more := min(first-later, f.summary.Free)
	if first < later/10*11 || more < 64<<20 {
		return
	}
	f.add(Finding{
		Kind: WarmUpFinding, Bytes: first, Saving: more, Confidence: Probable, Where: Where{Event: event},
		Evidence: fmt.Sprintf("The first step needed %s, no later one more than %s", quantity.Bytes(first), quantity.Bytes(later)),
		Remedy:   "torch.cuda.empty_cache() after it returns the cached memory",
	})
}

// heldBy returns the bytes of one stack.
func heldBy(all []holding, stack trace.StackID) int64 {
	for i := range all {
		if all[i].stack == stack {
			return all[i].bytes
		}
	}
	return 0
}

// fragmented adds a finding only if memory ran out. Otherwise cached memory does
// no harm: it can serve the next request.
func (f *finder) fragmented() {
	if len(f.index.oomEvents) == 0 {
		return
	}
	m := f.index.finalMap()
	if m.Free <= m.Reserved/5 || m.Free <= 64<<20 || m.Releasable >= m.Free/2 {
		return
	}
	found := Finding{
		Kind: FragmentationFinding, Severity: Warning, Bytes: m.Free, Where: Where{Event: f.index.End()}, Remedy: f.index.remedy(),
		Evidence: fmt.Sprintf("At the end %s (%d%%) of %s reserved is cached but unused, the largest piece %s; %s could be given back",
			quantity.Bytes(m.Free), Percent(m.Free, m.Reserved), quantity.Bytes(m.Reserved), quantity.Bytes(m.LargestFit()), quantity.Bytes(m.Releasable)),
	}
	if pinned, keeps := m.pinned(); pinned > 0 {
		found.Evidence += fmt.Sprintf("; small blocks pin %s segments with %s free", quantity.Count(pinned), quantity.Bytes(keeps))
	}
	f.add(found)
}

func (f *finder) rounded() {
	if lost := f.summary.Active - f.summary.Requested; lost > f.summary.Active/10 && lost > 64<<20 {
		f.add(Finding{
			Kind: RoundingFinding, Severity: Warning, Bytes: lost, Saving: lost, Where: Where{Event: f.index.End()},
			Evidence: fmt.Sprintf("Rounding wastes %s (%d%%) of the memory in use", quantity.Bytes(lost), Percent(lost, f.summary.Active)),
		})
	}
}

// pinned counts the segments that small blocks pin, and their free bytes.
func (m *Map) pinned() (segments int, free int64) {
	for i := range m.Segments {
		if s := &m.Segments[i]; s.Pin != nil {
			segments++
			free += s.Free
		}
	}
	return segments, free
}
