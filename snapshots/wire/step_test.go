package wire

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

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
