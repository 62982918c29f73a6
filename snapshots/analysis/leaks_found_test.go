package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// leaking is a run of which so many places keep something of each of n steps.
func leaking(places, n int) *trace.Trace {
	m := newMaker()
	for range n {
		m.run(func() {
			for place := range places {
				m.get(m.tag("activation", fmt.Sprint("h.", place), "output"), m.stack(10+place), 8192)
			}
		})
	}
	return m.trace()
}

func found(x *Index, kind *FindingKind) []Finding {
	var some []Finding
	for _, f := range x.Findings() {
		if f.Kind == kind {
			some = append(some, f)
		}
	}
	return some
}

func TestLeaksOfAProgramThatCountsItsSteps(t *testing.T) {
	tests := map[string]struct {
		places, steps int
		severity      Severity
		confidence    Certainty
		verdict       string
		findings      int
	}{
		"too few steps to say":     {1, 3, 0, 0, "", 0},
		"growing":                  {1, 8, Warning, Possible, "h.0 output, model.py:10 forward: growing, +8.0 KiB per step; 64.0 KiB in 8 tensors. It grew", 1},
		"growing for too long":     {1, 40, Problem, Probable, "h.0 output, model.py:10 forward: suspected leak, +8.0 KiB per step; 320.0 KiB in 40 tensors. It grew", 1},
		"the largest four of four": {4, 40, Problem, Probable, "h.0 output, model.py:10 forward: suspected leak", 4},
		"the largest four of six":  {6, 40, Problem, Probable, "h.0 output, model.py:10 forward: suspected leak", 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr := leaking(test.places, test.steps)
			x := NewIndex(tr, &tr.Devices[0])
			leaks := found(x, LeakFinding)
			if len(leaks) != test.findings || len(found(x, GrowthFinding)) > 0 {
				t.Fatalf("got %d leaks, want %d and nothing else that grows:\n%s", len(leaks), test.findings, said(x))
			}
			if len(leaks) == 0 {
				return
			}
			f := leaks[0]
			if f.Severity != test.severity || f.Confidence != test.confidence || f.Bytes != int64(test.steps)*8192 || f.Where.Event != x.End() {
				t.Errorf("got %+v", f)
			}
			if !strings.HasPrefix(f.Text(), test.verdict) || strings.HasSuffix(f.Text(), "..") {
				t.Errorf("got %q, want %q…", f.Text(), test.verdict)
			}
			if rest := leaks[len(leaks)-1]; test.places > 4 && rest.Text() != "Memory of 2 more sites grows too; they now hold 640.0 KiB." {
				t.Errorf("of the rest: %q", rest.Text())
			}
		})
	}
}

// TestARecordingBeginsLateByNature has memory from before, which is no finding
// in a program that is watched.
func TestARecordingBeginsLateByNature(t *testing.T) {
	m := newMaker()
	m.get(m.tag("other", "", ""), 0, 1<<20)
	m.attach()
	m.run(func() { m.drop(m.get(0, m.stack(5), 512)) })
	tr := m.trace()
	tr.Devices[0].Overflowed = true
	if x := NewIndex(tr, &tr.Devices[0]); len(found(x, LostHistoryFinding))+len(found(x, HeldBeforeFinding)) > 0 {
		t.Errorf("of a program that is watched:\n%s", said(x))
	}
	tr.Live = nil
	if x := NewIndex(tr, &tr.Devices[0]); len(found(x, LostHistoryFinding)) != 1 || len(found(x, HeldBeforeFinding)) != 1 {
		t.Errorf("of a file:\n%s", said(x))
	}
}

// TestALeakIsMeasuredBetweenSteps looks at a program in the middle of a step, where
// the site that leaks holds more for a while.
func TestALeakIsMeasuredBetweenSteps(t *testing.T) {
	m := newMaker()
	tag := m.tag("activation", "h.0", "output")
	for range 12 {
		m.run(func() { m.drop(m.get(tag, m.stack(10), 8192)); m.get(tag, m.stack(10), 8192) })
	}
	m.add(trace.Event{Kind: trace.StepBegin, Size: 13})
	for range 5 {
		m.get(tag, m.stack(10), 8192)
	}
	tr := m.trace()
	x := NewIndex(tr, &tr.Devices[0])
	leaks, at := found(x, LeakFinding), LastStepEnd(x)
	if len(leaks) != 1 || leaks[0].Bytes != 12*8192 || leaks[0].Where.Event != at || x.events.At(at).Kind != trace.StepEnd {
		t.Errorf("got %+v, want 12 of 8 KiB after step 12, event %d", leaks, at)
	}
	if sites := x.Sites(at); len(sites) != 1 || sites[0].Bytes != leaks[0].Bytes || sites[0].Count != 12 {
		t.Errorf("the sites then are %+v", sites)
	}
}
