package analysis_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/traintest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// verdicts is what was said of a run of the engine, step by step.
type verdicts struct {
	named  int64             // the step after which the leak was named, 0 for never
	alarms map[string]int    // sites that leak nothing and were called a leak, after how many steps
	ended  leak.Trend        // of the leak, at the end
	last   map[string]string // alarms that stand at the end
}

// watch asks for the sites after every step.
func watch(t *testing.T, r traintest.Run) verdicts {
	t.Helper()
	tr := r.Trace(t)
	x := analysis.NewIndex(tr, &tr.Devices[0])
	v := verdicts{alarms: make(map[string]int)}
	for _, step := range x.Steps() {
		v.last = make(map[string]string)
		for _, s := range x.Sites(step.To - 1) {
			leaks := r.Leaks != nil && strings.HasPrefix(s.Name, r.Leaks.Layer+" "+r.Leaks.Role)
			switch {
			case leaks && s.Trend >= leak.Suspected && v.named == 0:
				v.named = step.Number
			case !leaks && s.Trend >= leak.Suspected:
				v.alarms[s.Name]++
				v.last[s.Name] = s.Reason
			}
			if leaks {
				v.ended = s.Trend
			}
		}
	}
	return v
}

// TestLeaksOfTheEngineAreNamed watches training runs of which it is known what
// they leak. What leaks in every step is named within 20 steps, and nothing else
// is called a leak at the end of any.
func TestLeaksOfTheEngineAreNamed(t *testing.T) {
	fatal.IfShort(t)
	leaking, innocent := traintest.Leaking(), traintest.Innocent()
	right, wrong, missed := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(leaking)) {
		v := watch(t, leaking[name])
		want := leak.Suspected
		if leaking[name].Unreachable {
			want = leak.Unreachable
		}
		if v.ended == want {
			right++
		} else {
			missed++
			t.Errorf("%s: at the end it is %s, want %s", name, v.ended, want)
		}
		wrong += len(v.last)
		t.Logf("leaks      %-38s named after step %d", name, v.named)
		if name != "now and then" && v.named > 20 {
			t.Errorf("%s: named only after step %d", name, v.named)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(innocent)) {
		v := watch(t, innocent[name])
		wrong += len(v.last)
		t.Logf("no leaks   %-38s alarms: %v, at the end %v", name, v.alarms, v.last)
		if len(v.last) > 0 || len(v.alarms) > 0 {
			t.Errorf("%s: called a leak: %v", name, v.alarms)
		}
	}
	t.Logf("precision %.2f, recall %.2f over %d runs", float64(right)/float64(right+wrong), float64(right)/float64(right+missed), len(leaking)+len(innocent))
}

// TestExperimentsOfTheEngineAreMeasured switches checkpoints on and off, twice:
// each time the peak moves by the same.
func TestExperimentsOfTheEngineAreMeasured(t *testing.T) {
	tr := traintest.Innocent()["checkpoints come and go"].Trace(t)
	steady := traintest.Innocent()["steady"].Trace(t)
	x := analysis.NewIndex(tr, &tr.Devices[0])
	all := x.Experiments()
	if len(all) != 4 {
		t.Fatalf("%d changes were found, want 4: %+v", len(all), all)
	}
	without := float64(steady.Steps[len(steady.Steps)-1].PeakAllocated)
	first := all[0].Effects[analysis.PeakAllocatedQuantity]
	if first.Delta >= 0 || first.Before.Median != without {
		t.Errorf("checkpoints move the peak by %v from %v, want it lower than %v", first.Delta, first.Before.Median, without)
	}
	for i := range all {
		e, peak := &all[i], all[i].Effects[analysis.PeakAllocatedQuantity]
		want := first.Delta
		if e.To == "none" {
			want = -want
		}
		if !e.Done() || e.Key != "checkpoint" || len(e.Overlaps) > 0 || !peak.Measured || peak.Delta != want {
			t.Errorf("%s=%s at step %d: %+v, want %v", e.Key, e.To, e.Step, peak, want)
		}
		if event := x.Device().Events.At(max(0, e.Event)); e.Event < 0 || event.Size != e.Step {
			t.Errorf("%s=%s at step %d: its event is number %d", e.Key, e.To, e.Step, e.Event)
		}
	}
}

// TestThePeakOfTheLastStepIsTheEngines compares the event of the peak with what the
// engine, which counts as it goes, says of that step.
func TestThePeakOfTheLastStepIsTheEngines(t *testing.T) {
	for _, name := range []string{"steady", "checkpoints come and go"} {
		tr := traintest.Innocent()[name].Trace(t)
		x := analysis.NewIndex(tr, &tr.Devices[0])
		got, want := analysis.LastStepOf(x), tr.Steps[len(tr.Steps)-1]
		if got == nil || got.Number != want.Number {
			t.Fatalf("%s: the last step is %+v, want number %d", name, got, want.Number)
		}
		sums := x.CategoriesAt(got.Peak)
		for _, a := range want.AtPeak {
			if c, _ := trace.NamedCategory(a.Name); sums[c] != a.Bytes {
				t.Errorf("%s: %d bytes of %s at the peak, want %d", name, sums[c], a.Name, a.Bytes)
			}
		}
	}
}
