package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestAListOfStepsThatWasHandedOutKeepsItsLayers adds steps until the layers of the first are dropped.
func TestAListOfStepsThatWasHandedOutKeepsItsLayers(t *testing.T) {
	s := steps{room: 64 << 20}
	for n := int64(1); n == 1 || s.all[0].Layers != nil; n++ {
		before := s.list()
		s.add(trace.Step{Number: n, Layers: make([]trace.Layer, 300)})
		if n > 1 && before[0].Layers == nil {
			t.Fatal("it has changed")
		}
	}
}

// TestWhatIsForgottenAtATime fills each list until one more does not fit.
func TestWhatIsForgottenAtATime(t *testing.T) {
	const most = 1000
	left := func(change bool) int {
		s := steps{room: 2 * most * stepBytes}
		for n := range int64(most + 1) {
			step := trace.Step{Number: n + 1}
			if change {
				step.Settings = []trace.Value{{Key: "depth", Value: strconv.FormatInt(n, 10)}}
			}
			s.add(step)
		}
		return len(s.all)
	}
	layered := steps{room: 2 * most * layerBytes}
	for n := range int64(most/10 + 1) {
		layered.add(trace.Step{Number: n + 1, Layers: make([]trace.Layer, 10)})
	}
	tests := map[string]struct{ got, want int }{
		"half of the layers":                             {int(layered.layers), most / 2},
		"the older half of the steps":                    {left(false), most/2 + 1},
		"half of the older half, if all are at a change": {left(true), most/2 + most/4 + 1},
		"a quarter of the changes, or of the gauges":     {len(keep(make([]int, most+1), most)), most * 3 / 4},
		"none of as many as there may be":                {len(keep(make([]int, most), most)), most},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %d are left, want %d", name, test.got, test.want)
		}
	}
}

// TestChangesStayMeasurable changes a setting early on, and again and again.
func TestChangesStayMeasurable(t *testing.T) {
	const most = 1000
	tests := map[string]struct {
		every int64 // steps between two changes
		want  bool  // the first can still be measured at the end
	}{
		"a change long ago":            {20_000, true},
		"more changes than there fits": {100, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := steps{room: 2 * most * stepBytes}
			for n := int64(1); n < 40_000; n++ {
				value := strconv.FormatInt((n+test.every/2)/test.every, 10)
				s.add(trace.Step{Number: n, Settings: []trace.Value{{Key: "amp", Value: value}}})
			}
			first := 0
			for i, step := range s.list() {
				if i > 0 && step.Number <= s.all[i-1].Number {
					t.Fatalf("step %d follows step %d", step.Number, s.all[i-1].Number)
				}
				if value := step.Settings[0].Value; value == "0" || value == "1" && step.Number < test.every/2+around {
					first++
				}
			}
			if got := first == 2*around; got != test.want || len(s.all) > most {
				t.Errorf("%d steps are left around the first change, and %d of all", first, len(s.all))
			}
		})
	}
}

func TestTheLossOfAStep(t *testing.T) {
	tests := map[string]struct {
		text string
		want float64
		ok   bool
	}{
		"a number":         {`{"loss": 2.5}`, 2.5, true},
		"infinity":         {`{"loss": "-Inf"}`, math.Inf(-1), true},
		"null is no loss":  {`{"loss": null}`, 0, false},
		"a word is none":   {`{"loss": "low"}`, 0, false},
		"an object is not": {`{"loss": {}}`, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := trace.Step{NoLoss: true}
			err := json.Unmarshal([]byte(test.text), jsonOf(&s))
			if (err == nil) != test.ok || test.ok && (s.Loss != test.want || s.NoLoss) {
				t.Errorf("got %v and %v, want %v", s.Loss, err, test.want)
			}
		})
	}
}

func TestAStepWithoutALossSaysSo(t *testing.T) {
	text, err := json.Marshal(jsonOf(&trace.Step{Number: 3, NoLoss: true}))
	fatal.If(t, err)
	again := trace.Step{NoLoss: true}
	if err := json.Unmarshal(text, jsonOf(&again)); err != nil || again.Number != 3 || !again.NoLoss {
		t.Errorf("%s is read as %+v, %v", text, again, err)
	}
}
