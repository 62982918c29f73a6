package report

import (
	"testing"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestAnActionIsReportedAsDone(t *testing.T) {
	back := int64(-54 << 20)
	e := analysis.Experiment{Once: true, Change: trace.Change{
		ID: 1, Key: "action", From: "none", To: "empty-cache", State: trace.Applied, Step: 18, Predicted: &trace.Prediction{Reserved: &back},
	}}
	e.Effects[analysis.ReservedQuantity] = analysis.Effect{
		Quantity: analysis.ReservedQuantity, Measured: true, Delta: float64(back),
		Before: analysis.Level{Median: 64 << 20, Steps: 1}, After: analysis.Level{Median: 10 << 20, Steps: 1},
	}
	text := pageOf(t, NewChanges([]analysis.Experiment{e}), 80)
	const want = `action: empty-cache, done at step 18
predicted: reserved -54.0 MiB, when the step has ended
measured:
  reserved            64.0 MiB → 10.0 MiB  (-54.0 MiB)
`
	if got := text; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnActionLeavesOtherPredictionsAlone(t *testing.T) {
	back := int64(-54 << 20)
	made := func(key string, p trace.Prediction) analysis.Experiment {
		return analysis.Experiment{Change: trace.Change{Key: key, State: trace.Applied, Step: 18, Predicted: &p}}
	}
	action := made("action", trace.Prediction{Reserved: &back})
	setting := made("checkpoint", trace.Prediction{PeakAllocated: -100})
	for name, list := range map[string][]analysis.Experiment{"before them": {action, setting}, "after them": {setting, action}} {
		p := NewChanges(list).Predicted
		if p.PeakAllocated != -100 || p.Reserved != nil {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}
