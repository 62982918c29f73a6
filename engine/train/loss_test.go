package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// points are samples whose targets are numbers, not classes.
type points struct{ data.Spirals }

func (p points) Spec() data.Spec {
	s := p.Spirals.Spec()
	return data.Spec{Input: s.Input, Target: s.Input}
}

func (p points) Read(i int, into data.Sample) error {
	if err := p.Spirals.Read(i, data.Sample{Input: into.Input, Target: make([]byte, 4)}); err != nil {
		return err
	}
	copy(into.Target, into.Input)
	return nil
}

// regression is a config that leaves to the trainer what it can, and whose targets
// cross-entropy would not take.
func regression(t *testing.T, loss nn.Module, dataset data.Dataset) Config {
	t.Helper()
	return Config{
		Device: tensortest.Device(t), Loss: loss, Data: dataset, Batch: 32, Seed: 3, Settings: DefaultSettings(),
		Build: func(d *tensor.Device) (nn.Module, error) {
			return nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.Sequential {
				return nn.NewMLP(b, nn.MLPConfig{In: 8, Hidden: 64, Out: 8, Layers: 3})
			})
		},
	}
}

// distance is a loss that no package has: the mean of (output − target)⁴.
func distance(c *nn.Ctx, in ...*autograd.Value) *autograd.Value {
	d := c.Sub(in[0], in[1])
	square := c.Mul(d, d)
	return c.MeanAll(c.Mul(square, square))
}

func TestALossOfOnesOwnIsTrainedAndRehearsed(t *testing.T) {
	tests := map[string]struct {
		loss  nn.Module
		class string
	}{
		"a function":           {nn.NewFunction(distance), "Function"},
		"a chain of functions": {nn.NewSequential(nn.NewFunction(distance), nn.NewFunction(tripled)), "Sequential"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := regression(t, test.loss, points{data.Spirals{Features: 8, Classes: 3}})
			trainer := newTrainer(t, c)
			plan := trainer.plan()
			plan.Settings = c.Settings
			estimate, err := plan.Estimate(t.Context())
			fatal.If(t, err)
			events := steps(t, trainer, 30)
			if first, last := events[0].Loss, events[29].Loss; last > 0.8*first {
				t.Errorf("the loss went from %g to %g", first, last)
			}
			equal.Values(t, "memory", estimate.Memory, events[1].Memory)
			i := slices.IndexFunc(trainer.Layers(), func(l *nn.Layer) bool { return l.Name == "loss" })
			if i < 0 || trainer.Layers()[i].Class != test.class {
				t.Errorf("no layer \"loss\" of class %s", test.class)
			}
			if _, err := trainer.Predict(t.Context(), []trace.Value{{Key: "accumulate", Value: "4"}}); err != nil {
				t.Error(err)
			}
		})
	}
}

func tripled(c *nn.Ctx, in ...*autograd.Value) *autograd.Value { return c.Scale(in[0], 3) }

func TestAConfigThatCannotTrainIsRefused(t *testing.T) {
	tests := map[string]struct {
		change func(c *Config)
		want   string
	}{
		"no model":                   {func(c *Config) { c.Build = nil }, "neither Model nor Build"},
		"no samples":                 {func(c *Config) { c.Data = nil }, "neither Batches nor Data"},
		"a loss that wants training": {func(c *Config) { c.Loss, _ = c.Build(c.Device) }, "the loss has parameters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := regression(t, nil, points{data.Spirals{Features: 8, Classes: 3}})
			test.change(&c)
			if c.Loss != nil {
				defer nn.Close(c.Loss)
			}
			trainer, err := New(c)
			if err == nil {
				trainer.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

// oddVocab is a GPT whose vocabulary is no round number.
func oddVocab() nn.GPTConfig {
	g := tiny()
	g.Vocab = 257
	return g
}

// TestAPaddedVocabularyTrainsAsTheExactOne pads from the start, in parts, and between
// steps.
func TestAPaddedVocabularyTrainsAsTheExactOne(t *testing.T) {
	fatal.IfShort(t)
	tests := map[string]struct {
		settings func(s *Settings)
		padAt    int
	}{
		"bfloat16":              {func(s *Settings) { s.AMP = amp.BF16 }, 0},
		"float16":               {func(s *Settings) { s.AMP = amp.FP16 }, 0},
		"float32":               {func(*Settings) {}, 0},
		"parts of a batch":      {func(s *Settings) { s.AMP, s.MicroBatch = amp.BF16, 3 }, 0},
		"checkpoints":           {func(s *Settings) { s.AMP, s.Checkpoint = amp.BF16, nn.Selective() }, 0},
		"activations elsewhere": {func(s *Settings) { s.AMP, s.Offload = amp.BF16, offloaded(t, "activations") }, 0},
		"all of it elsewhere":   {func(s *Settings) { s.AMP, s.Offload = amp.BF16, offloaded(t, "optimizer,gradients,parameters") }, 0},
		"PyTorch's loss":        {func(s *Settings) { s.AMP, s.LossMemory = amp.BF16, nn.PyTorchLoss }, 0},
		"from step 4 on":        {func(s *Settings) { s.AMP = amp.BF16 }, 4},
	}
	n := compared()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			run := func(padAt int) []float64 {
				s := DefaultSettings()
				test.settings(&s)
				trainer := newBenchOf(t, 64<<20, device.Float32, oddVocab(), s.Offload).trainer(t, s, nil)
				list := losses(steps(t, trainer, padAt))
				if padAt < n {
					set(t, trainer, "pad_vocab=on")
				}
				return append(list, losses(steps(t, trainer, n-padAt))...)
			}
			want, got := run(n), run(test.padAt)
			for i := range want {
				if math.Abs(want[i]-got[i]) > 1e-3 {
					t.Fatalf("step %d: loss %v with padding, %v without", i+1, got[i], want[i])
				}
			}
		})
	}
}

func offloaded(t *testing.T, parts string) Offload {
	t.Helper()
	o, err := ParseOffload(parts)
	fatal.If(t, err)
	return o
}
