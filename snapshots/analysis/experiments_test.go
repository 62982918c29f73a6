package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"memtop/snapshots/trace"
)

// practice is a run whose settings are changed.
type practice struct {
	steps   int
	changes []trace.Change
	silent  map[int64]string // settings that change without that anybody asked, as "key=value" by step
	skipped []int64          // steps whose gradients overflowed
}

// trace makes steps of 1000 bytes, 100 less for each setting that is not "off",
// of which two steps after a change need 5000.
func (p practice) trace() *trace.Trace {
	t := &trace.Trace{Live: &trace.Live{Changes: p.changes}}
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
		t.Steps = append(t.Steps, s)
	}
	return t
}

func applied(id int64, key, from, to string, step int64) trace.Change {
	return trace.Change{ID: id, Key: key, From: from, To: to, State: trace.Applied, Step: step, Time: step*1000 - 500}
}

// line writes an experiment in one line.
func line(e *Experiment) string {
	text := fmt.Sprintf("%s %s→%s %s at %d", e.Key, e.From, e.To, e.State, e.Step)
	if peak := &e.Effects[PeakAllocatedQuantity]; peak.Measured {
		text += fmt.Sprintf(" peak %+.0f after %d of %d", peak.Delta, e.Settled, e.Needed)
		if peak.Compared {
			text += fmt.Sprintf(" error %+.2f", peak.Error)
		}
	}
	for _, o := range e.Overlaps {
		text += " with " + o
	}
	for _, o := range e.Along {
		text += " along " + o
	}
	return text
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
			[]string{"a off→on applied at 10 peak -100 after 5 of 5"},
		},
		"soon after it only some have": {
			practice{steps: 13, changes: []trace.Change{applied(1, "a", "off", "on", 10)}},
			[]string{"a off→on applied at 10 peak -100 after 2 of 5"},
		},
		"right after it none has": {
			practice{steps: 11, changes: []trace.Change{applied(1, "a", "off", "on", 10)}},
			[]string{"a off→on applied at 10"},
		},
		"a prediction has an error": {
			practice{steps: 30, changes: []trace.Change{predicted}},
			[]string{"a off→on applied at 10 peak -100 after 5 of 5 error +0.05"},
		},
		"one that was refused has no effects":   {practice{steps: 30, changes: []trace.Change{refused}}, []string{"a off→odd refused at 0"}},
		"one that nobody has used yet has none": {practice{steps: 30, changes: []trace.Change{pending}}, []string{"a off→on pending at 0"}},
		"steps that were skipped are left out": {
			practice{steps: 30, changes: []trace.Change{applied(1, "a", "off", "on", 10)}, skipped: []int64{7, 8, 9, 14, 15}},
			[]string{"a off→on applied at 10 peak -100 after 5 of 5"},
		},
		"changes far apart are told apart": {
			practice{steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10), applied(2, "b", "off", "on", 20)}},
			[]string{"a off→on applied at 10 peak -100 after 5 of 5", "b off→on applied at 20 peak -100 after 5 of 5"},
		},
		"changes at one step are measured together": {
			practice{steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10), applied(2, "b", "off", "on", 10)}},
			[]string{
				"a off→on applied at 10 peak -200 after 5 of 5 with b=on at step 10",
				"b off→on applied at 10 peak -200 after 5 of 5 with a=on at step 10",
			},
		},
		"changes that follow closely overlap": {
			practice{steps: 40, changes: []trace.Change{predicted, applied(2, "b", "off", "on", 13)}},
			[]string{
				"a off→on applied at 10 peak -200 after 5 of 5 with b=on at step 13",
				"b off→on applied at 13 peak -200 after 5 of 5 with a=on at step 10",
			},
		},
		"what nobody asked for is seen in the steps": {
			practice{steps: 40, silent: map[int64]string{10: "c=on"}},
			[]string{"c off→on applied at 10 peak -100 after 5 of 5"},
		},
		"what comes along with a change is noted there": {
			practice{steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10)}, silent: map[int64]string{10: "c=on"}},
			[]string{"a off→on applied at 10 peak -200 after 5 of 5 along c off → on"},
		},
		"an undone change is another": {
			practice{steps: 40, changes: []trace.Change{applied(1, "a", "off", "on", 10), applied(2, "a", "on", "off", 20)}},
			[]string{"a off→on applied at 10 peak -100 after 5 of 5", "a on→off applied at 20 peak +100 after 5 of 5"},
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

func TestEffectsAreMediansWithTheirSpread(t *testing.T) {
	all := Experiments(practice{steps: 30, changes: []trace.Change{applied(1, "a", "off", "on", 10)}}.trace(), 0)
	e := all[0].Effects
	if got := e[ActivationQuantity]; got.Delta != -50 || got.Before.Median != 500 {
		t.Errorf("activations: got %+v", got)
	}
	if got := e[StepTimeQuantity].After; got.Low != 1_000_000 || got.High != 1_000_002 || got.Median != 1_000_001 || got.Steps != 10 {
		t.Errorf("step time: got %+v", got)
	}
	if got := e[TokenRateQuantity].After.Median; got < 49_000 || got > 51_000 {
		t.Errorf("tokens per second: got %v, want about 50000", got)
	}
	if got := Experiments(practice{steps: 30, changes: []trace.Change{applied(1, "a", "off", "on", 10)}}.trace(), 1); got[0].Effects[0].Measured {
		t.Error("another device's steps were measured")
	}
}
