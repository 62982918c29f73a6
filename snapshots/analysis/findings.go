package analysis

import (
	"cmp"
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
	growth := f.byLine(slices.DeleteFunc(slices.Clone(f.index.Growth()), f.hangs))
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
		if g.left < g.Bytes {
			found.Severity, found.Saving, found.Confidence = Info, 0, Possible
			held = fmt.Sprintf("it held %s, and %s at the end", quantity.Bytes(g.Bytes), quantity.Bytes(g.left))
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

// lineGrowth is the growth of a line, by the stack that grows the most, and what is left of it at the end.
type lineGrowth struct {
	Growth
	left int64
}

// byLine joins what grows by several stacks of one line.
func (f *finder) byLine(growth []Growth) (joined []lineGrowth) {
	if len(growth) == 0 {
		return nil
	}
	end := f.index.holdingsAt(f.index.End())
	for _, g := range growth {
		left := int64(0)
		if at := slices.IndexFunc(end, func(h holding) bool { return h.stack == g.Stack }); at >= 0 {
			left = end[at].bytes
		}
		at := slices.IndexFunc(joined, func(j lineGrowth) bool {
			return j.Marked == g.Marked && f.index.StackName(j.Stack) == f.index.StackName(g.Stack)
		})
		if at < 0 {
			joined = append(joined, lineGrowth{g, left})
			continue
		}
		j := &joined[at]
		j.PerStep, j.Bytes, j.left, j.Steps, j.Calls = j.PerStep+g.PerStep, j.Bytes+g.Bytes, j.left+left, min(j.Steps, g.Steps), j.Calls || g.Calls
	}
	slices.SortStableFunc(joined, func(a, b lineGrowth) int { return cmp.Compare(b.PerStep, a.PerStep) })
	return joined
}
