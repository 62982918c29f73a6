package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// practice is a run whose settings are changed.
type practice struct {
	steps   int
	changes []trace.Change
	silent  map[int64]string // settings that change without that anybody asked, as "key=value" by step
	skipped []int64          // steps whose gradients overflowed
	every   int64            // steps from one whose memory is known to the next, 0 for all
	offered []string         // settings that may be changed, nil where that is not known
}

// trace makes steps of 1000 bytes, 100 less for each setting that is not "off",
// of which two steps after a change need 5000.
func (p practice) trace() *trace.Trace {
	t := &trace.Trace{Live: &trace.Live{Changes: p.changes}}
	for _, key := range p.offered {
		t.Live.Options = append(t.Live.Options, trace.Option{Key: key})
	}
	settings := map[string]string{"a": "off", "b": "off", "c": "off"}
	restless := int64(-10)
	for n := int64(1); n <= int64(p.steps); n++ {
		for _, c := range p.changes {
			if c.State == trace.Applied && c.Step == n {
				settings[c.Key], restless = c.To, n
			}
		}
		if text, ok := p.silent[n]; ok {
			key, value, _ := strings.Cut(text, "=")
			settings[key], restless = value, n
		}
		s := trace.Step{Number: n, Time: n * 1000, Duration: 1_000_000 + n%3, Tokens: 50, Loss: 1 / float64(n), PeakAllocated: 1000, PeakReserved: 2000}
		for _, key := range []string{"a", "b", "c"} {
			s.Settings = append(s.Settings, trace.Value{Key: key, Value: settings[key]})
			if settings[key] != "off" {
				s.PeakAllocated -= 100
			}
		}
		s.AtPeak = []trace.Amount{{Name: "activation", Bytes: s.PeakAllocated / 2}}
		if n < restless+settlingSteps {
			s.PeakAllocated = 5000
		}
		if slices.Contains(p.skipped, n) {
			s.Skipped, s.PeakAllocated = true, 9000
		}
		if p.every > 0 && n%p.every != 0 {
			s.PeakAllocated, s.PeakReserved, s.AtPeak = 0, 0, nil
		}
		t.Steps = append(t.Steps, s)
	}
	return t
}

func applied(id int64, key, from, to string, step int64) trace.Change {
	return trace.Change{ID: id, Key: key, From: from, To: to, State: trace.Applied, Step: step, Time: step*1000 - 500}
}

// line writes an experiment in one line.
func line(e *Experiment) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s→%s %s at %d", e.Key, e.From, e.To, e.State, e.Step)
	if peak := &e.Effects[PeakAllocatedQuantity]; peak.Measured {
		fmt.Fprintf(&text, " peak %+.0f after %d of %d", peak.Delta, e.Settled, e.Needed)
		if peak.Compared {
			fmt.Fprintf(&text, " error %+.2f", peak.Error)
		}
	}
	for _, o := range e.Overlaps {
		text.WriteString(" with " + o)
	}
	for _, o := range e.Along {
		text.WriteString(" along " + o)
	}
	return text.String()
}

func TestExperimentsSayWhatCameOfAChange(t *testing.T) {
	predicted := applied(1, "a", "off", "on", 10)
	predicted.Predicted = &trace.Prediction{PeakAllocated: -150, Activation: -50}
	refused := trace.Change{ID: 1, Key: "a", From: "off", To: "odd", State: trace.Refused, Reason: "no"}
	pending := trace.Change{ID: 1, Key: "a", From: "off", To: "on"}
	for name, test := range map[string]struct {
		practice
		want []string
	}{
		"one change is measured when its steps have settled": {
			practice{steps: 30, changes: []trace.Change{applied(1, "a", "off", "on", 10)}},
			[]string{"a off→on applied at 10 peak -100 after 8 of 8"},
		},
		"soon after it only some have": {
			practice{steps: 13, changes: []trace.Change{applied(1, "a", "off", "on", 10)}},
			[]string{"a off→on applied at 10 peak -100 after 2 of 8"},
		},
		"right after it none has": {
			practice{steps: 11, changes: []trace.Change{applied(1, "a", "off", "on", 10)}},
			[]string{"a off→on applied at 10"},
		},
		"a prediction has an error": {
			practice{steps: 30, changes: []trace.Change{predicted}},
			[]string{"a off→on applied at 10 peak -100 after 8 of 8 error -0.06"},
		},
		"one that was refused has no effects":   {practice{steps: 30, changes: []trace.Change{refused}}, []string{"a off→odd refused at 0"}},
		"one that nobody has used yet has none": {practice{steps: 30, changes: []trace.Change{pending}}, []string{"a off→on pending at 0"}},
		"steps that were skipped are left out": {
			practice{steps: 30, changes: []trace.Change{applied(1, "a", "off", "on", 10)}, skipped: []int64{7, 8, 9, 14, 15}},
			[]string{"a off→on applied at 10 peak -100 after 8 of 8"},
		},
		"changes far apart are told apart": {
			practice{steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10), applied(2, "b", "off", "on", 20)}},
			[]string{"a off→on applied at 10 peak -100 after 8 of 8", "b off→on applied at 20 peak -100 after 8 of 8"},
		},
		"changes at one step are measured together": {
			practice{steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10), applied(2, "b", "off", "on", 10)}},
			[]string{
				"a off→on applied at 10 peak -200 after 8 of 8 with b=on at step 10",
				"b off→on applied at 10 peak -200 after 8 of 8 with a=on at step 10",
			},
		},
		"changes that follow closely overlap": {
			practice{steps: 40, changes: []trace.Change{predicted, applied(2, "b", "off", "on", 13)}},
			[]string{
				"a off→on applied at 10 peak -200 after 8 of 8 with b=on at step 13",
				"b off→on applied at 13 peak -200 after 8 of 8 with a=on at step 10",
			},
		},
		"what nobody asked for is seen in the steps": {
			practice{steps: 40, silent: map[int64]string{10: "c=on"}},
			[]string{"c off→on applied at 10 peak -100 after 8 of 8"},
		},
		"what comes along with a change is noted there": {
			practice{steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10)}, silent: map[int64]string{10: "c=on"}},
			[]string{"a off→on applied at 10 peak -200 after 8 of 8 along c off → on"},
		},
		"steps that tell nothing of memory are passed over": {
			practice{steps: 200, changes: []trace.Change{applied(1, "a", "off", "on", 95)}, every: 10},
			[]string{"a off→on applied at 95 peak -100 after 8 of 8"},
		},
		"and do not make it final": {
			practice{steps: 120, changes: []trace.Change{applied(1, "a", "off", "on", 95)}, every: 10},
			[]string{"a off→on applied at 95 peak -100 after 3 of 8"},
		},
		"what may not be changed is no experiment": {
			practice{
				steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10)}, silent: map[int64]string{11: "c=on"},
				offered: []string{"a", "b"},
			},
			[]string{"a off→on applied at 10 peak -200 after 8 of 8"},
		},
		"an undone change is another": {
			practice{steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10), applied(2, "a", "on", "off", 20)}},
			[]string{"a off→on applied at 10 peak -100 after 8 of 8", "a on→off applied at 20 peak +100 after 8 of 8"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := Experiments(test.trace(), 0)
			var got []string
			for i := range all {
				got = append(got, line(&all[i]))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestEffectsAreDifferencesOfMedians(t *testing.T) {
	all := Experiments(practice{steps: 30, changes: []trace.Change{applied(1, "a", "off", "on", 10)}}.trace(), 0)
	e := all[0].Effects
	if got := e[ActivationQuantity]; got.Delta != -50 || got.Before.Median != 500 {
		t.Errorf("activations: got %+v", got)
	}
	if got := e[StepTimeQuantity]; got.After.Median != 1_000_001 || got.After.Steps != 8 || got.Spread != 1 {
		t.Errorf("step time: got %+v", got)
	}
	if got := e[TokenRateQuantity].After.Median; got < 49_000 || got > 51_000 {
		t.Errorf("tokens per second: got %v, want about 50000", got)
	}
	if got := Experiments(practice{steps: 30, changes: []trace.Change{applied(1, "a", "off", "on", 10)}}.trace(), 1); got[0].Effects[0].Measured {
		t.Error("another device's steps were measured")
	}
}

// TestAMeasurementIsFinalWhenItIsDone compares what is shown when a change has been
// measured with what is shown of it ever after.
func TestAMeasurementIsFinalWhenItIsDone(t *testing.T) {
	run := practice{steps: 60, changes: []trace.Change{applied(1, "a", "off", "on", 20), applied(2, "b", "off", "on", 40)}}.trace()
	for i := range run.Steps {
		run.Steps[i].Duration = 1_000_000 + (run.Steps[i].Number*7919)%100_000
	}
	all, first := run.Steps, (*Experiment)(nil)
	for n := 20; n <= len(all); n++ {
		run.Steps = all[:n]
		e := &Experiments(run, 0)[0]
		switch {
		case first == nil && e.Done():
			first = e
		case first != nil && e.Effects != first.Effects:
			t.Fatalf("after step %d: got %+v, was %+v", n, e.Effects, first.Effects)
		}
	}
	if first == nil {
		t.Error("the change is never measured")
	}
}

// TestWhatAnActionGivesBackIsMeasuredInItsStep has steps that take again what went back.
func TestWhatAnActionGivesBackIsMeasuredInItsStep(t *testing.T) {
	back := int64(-1500)
	made := practice{steps: 20, changes: []trace.Change{{
		ID: 1, Key: "action", From: "none", To: "empty-cache", State: trace.Applied, Step: 12, Predicted: &trace.Prediction{Reserved: &back},
	}}}.trace()
	made.Live.Options = []trace.Option{{Key: "action", Value: "none", Choices: []string{"empty-cache"}}}
	for i := range made.Steps {
		s := &made.Steps[i]
		if s.Reserved = s.PeakReserved; s.Number == 12 {
			s.Reserved = 600
		}
	}
	e := Experiments(made, 0)[0]
	f := e.Effects[ReservedQuantity]
	if !e.Once || f.Delta != -1400 || f.Before.Median != 2000 || f.After.Median != 600 || f.Error != trace.Off(500, 600) || !f.Compared {
		t.Errorf("got %+v of %+v", f, e.Change)
	}
	if f := e.Effects[PeakAllocatedQuantity]; f.Foretold || !f.Measured || f.Delta != 0 {
		t.Errorf("the peak: got %+v", f)
	}
}
