package train

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/snapshots/trace"
)

// visible is a GPT whose activations weigh enough for a change to show.
func visible() nn.GPTConfig {
	return nn.GPTConfig{Layers: 4, Dim: 32, Heads: 2, Context: 32, Vocab: 256, Bias: true}
}

// rehearsing returns a trainer that can predict.
func rehearsing(t *testing.T, g nn.GPTConfig) *Trainer {
	t.Helper()
	return newBench(t, 256<<20, g).trainer(t, DefaultSettings(), func(c *Config) { c.Build = gpt(g) })
}

// near says whether got is within 2 % of want, or within a block's rounding.
func near(got, want int64) bool {
	return math.Abs(float64(got-want)) <= max(0.02*math.Abs(float64(want)), 1024)
}

func TestPredictionsComeTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	tests := map[string]struct {
		before []string // settings to begin with
		change string
		peak   bool // the change moves the peak
	}{
		"blocks are computed again":       {nil, "checkpoint=block", true},
		"segments are computed again":     {nil, "checkpoint=sqrt", true},
		"some results are kept":           {nil, "checkpoint=selective", true},
		"half precision":                  {nil, "amp=bf16", true},
		"full precision again":            {[]string{"amp=bf16"}, "amp=off", true},
		"moments in eight bits":           {nil, "optimizer=adamw8bit", true},
		"moments where there were none":   {[]string{"optimizer=sgd"}, "optimizer=adamw", true},
		"attention in pieces":             {[]string{"attention=naive"}, "attention=chunked", true},
		"attention that keeps nothing":    {[]string{"attention=naive"}, "attention=flash", true},
		"a batch in parts":                {nil, "accumulate=4", true},
		"the head on the host":            {nil, "host=wte+lm_head+loss", true},
		"a block on the host":             {[]string{"checkpoint=block", "amp=bf16"}, "host=h.1", true},
		"another rate moves nothing":      {nil, "lr=0.1", false},
		"half precision with checkpoints": {[]string{"checkpoint=block"}, "amp=bf16", true},
		"checkpoints and half precision":  {nil, "checkpoint=block amp=bf16", true},
		"parts and few moments":           {nil, "micro_batch=2 optimizer=adamw8bit", true},
		"one setting twice is the latter": {nil, "checkpoint=block checkpoint=none", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			trainer := rehearsing(t, visible())
			for _, s := range test.before {
				set(t, trainer, s)
			}
			if moved := comesTrue(t, trainer, test.change) != 0; moved != test.peak {
				t.Errorf("the peak moved: got %v, want %v", moved, test.peak)
			}
		})
	}
}

// comesTrue predicts a change, makes it, compares, and returns by how much the
// peak moved.
func comesTrue(t *testing.T, trainer *Trainer, change string) int64 {
	t.Helper()
	const settled = 3
	before := steps(t, trainer, settled)[settled-1].Memory
	p := predict(t, trainer, change)
	for text := range strings.FieldsSeq(change) {
		set(t, trainer, text)
	}
	after := steps(t, trainer, settled)[settled-1].Memory
	peak := after.PeakAllocated - before.PeakAllocated
	activation := after.AtPeak[trace.Activation] - before.AtPeak[trace.Activation]
	t.Logf("%s: peak %+d predicted %+d, activations %+d predicted %+d", change, peak, p.PeakAllocated, activation, p.Activation)
	if !near(p.PeakAllocated, peak) || !near(p.Activation, activation) {
		t.Errorf("%s: predicted peak %+d and activations %+d, measured %+d and %+d",
			change, p.PeakAllocated, p.Activation, peak, activation)
	}
	return peak
}

func predict(t *testing.T, trainer *Trainer, change string) *trace.Prediction {
	t.Helper()
	p, err := trainer.Predict(t.Context(), values(change))
	fatal.If(t, err)
	return p
}

// values reads changes, such as "amp=bf16 checkpoint=block".
func values(changes string) []trace.Value {
	var list []trace.Value
	for text := range strings.FieldsSeq(changes) {
		key, value, _ := strings.Cut(text, "=")
		list = append(list, trace.Value{Key: key, Value: value})
	}
	return list
}

func TestPredictionsThatCannotBeMade(t *testing.T) {
	trainer := rehearsing(t, tiny())
	for _, setting := range [][2]string{{"amp", "tf32"}, {"volume", "11"}, {"accumulate", "3"}, {"micro_batch", "9"}} {
		if p, err := trainer.Predict(t.Context(), []trace.Value{{Key: setting[0], Value: setting[1]}}); err == nil {
			t.Errorf("%v: got %v", setting, p)
		}
	}
	blind := newBench(t, 64<<20, tiny()).trainer(t, DefaultSettings(), nil)
	if _, err := blind.Predict(t.Context(), []trace.Value{{Key: "amp", Value: "bf16"}}); !errors.Is(err, ErrNoRehearsal) {
		t.Errorf("without a way to make the model: got error %v", err)
	}
}

func BenchmarkPredict(b *testing.B) {
	g := visible()
	g.Dim, g.Context = 128, 128
	bench := newBench(b, 256<<20, g)
	trainer := bench.trainer(b, DefaultSettings(), func(c *Config) { c.Build = gpt(g) })
	for b.Loop() {
		trainer.forecasts.list = nil
		if _, err := trainer.Predict(b.Context(), []trace.Value{{Key: "checkpoint", Value: "block"}}); err != nil {
			b.Fatal(err)
		}
	}
}
