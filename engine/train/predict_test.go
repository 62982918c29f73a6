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
