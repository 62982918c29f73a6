package train

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
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

// sample is a model whose predictions are compared with what is measured. Changes say
// some for some of its layers.
type sample struct {
	make  func(nn.Builder) nn.Module
	data  func() (data.Dataset, error)
	batch int
	some  string
}

// windows are those of the corpus, so many tokens each.
func windows(tokens int) func() (data.Dataset, error) {
	return func() (data.Dataset, error) { return data.NewWindows(data.Corpus(), tokens) }
}

func samples() map[string]sample {
	gpt := func(g nn.GPTConfig) func(nn.Builder) nn.Module {
		return func(b nn.Builder) nn.Module { return nn.NewGPT(b, g) }
	}
	spirals := data.Spirals{Seed: 1, Features: 32, Classes: 5}
	figures := data.Figures{Seed: 1, Channels: 3, Side: 32}
	return map[string]sample{
		"gpt":      {gpt(nn.GPTConfig{Layers: 4, Dim: 64, Heads: 4, Context: 64, Vocab: 257, Bias: true}), windows(64), 8, "wte+wpe+lm_head+loss"},
		"gpt deep": {gpt(nn.GPTConfig{Layers: 8, Dim: 48, Heads: 2, Context: 96, Vocab: 256, Dropout: 0.1, Bias: true}), windows(96), 8, "h.0+h.1"},
		"llama": {func(b nn.Builder) nn.Module {
			return nn.NewLlama(b, nn.LlamaConfig{Layers: 4, Dim: 64, Heads: 4, KVHeads: 2, Hidden: 160, Context: 64, Vocab: 256})
		}, windows(64), 8, "embed_tokens+lm_head+loss"},
		"mlp": {func(b nn.Builder) nn.Module {
			return nn.NewMLP(b, nn.MLPConfig{In: 32, Hidden: 256, Out: 5, Layers: 6})
		}, func() (data.Dataset, error) { return spirals, nil }, 512, "h.1"},
		"conv": {func(b nn.Builder) nn.Module {
			return nn.NewConvNet(b, nn.ConvNetConfig{Channels: 3, Width: 16, Layers: 3, Classes: figures.Spec().Classes})
		}, func() (data.Dataset, error) { return figures, nil }, 32, "h.0"},
	}
}

// singles are the settings that are predicted for each model; pairs are settings
// that are changed together.
var (
	singles = []string{
		"checkpoint=block", "checkpoint=sqrt", "checkpoint=selective", "checkpoint=every=2", "amp=bf16", "amp=fp16",
		"optimizer=sgd", "optimizer=adam", "optimizer=adamw8bit", "optimizer=lion", "attention=naive", "attention=chunked", "attention=flash",
		"accumulate=2", "micro_batch=2", "offload=optimizer", "offload=gradients", "offload=parameters", "offload=activations",
		"loss=pytorch", "host=loss", "host=some",
	}
	pairs = []string{
		"checkpoint=block amp=bf16", "checkpoint=block optimizer=adamw8bit", "checkpoint=block micro_batch=2", "checkpoint=block attention=flash",
		"checkpoint=block offload=optimizer", "checkpoint=sqrt amp=bf16", "checkpoint=sqrt accumulate=2", "checkpoint=selective amp=bf16",
		"checkpoint=block amp=fp16", "amp=bf16 optimizer=adamw8bit", "amp=bf16 micro_batch=2", "amp=bf16 attention=naive", "amp=bf16 offload=optimizer",
		"amp=fp16 optimizer=lion", "amp=bf16 offload=activations", "micro_batch=2 offload=optimizer", "micro_batch=2 optimizer=sgd",
		"optimizer=adamw8bit offload=gradients", "checkpoint=block offload=activations", "accumulate=2 offload=gradients",
		"loss=pytorch amp=bf16", "loss=pytorch micro_batch=2",
		"checkpoint=block host=some", "amp=bf16 host=some", "micro_batch=2 host=some", "host=some offload=optimizer", "offload=activations host=some",
	}
)

// TestPredictionsOfManyModels predicts and measures changes of one setting and of two,
// of five models (make predictions); without MEMTOP_LONG, of one setting of one model.
func TestPredictionsOfManyModels(t *testing.T) {
	fatal.IfShort(t)
	models, changes := samples(), append(slices.Clone(singles), pairs...)
	if os.Getenv("MEMTOP_LONG") == "" {
		models, changes = map[string]sample{"gpt": models["gpt"]}, append(slices.Clone(singles), "pad_vocab=on amp=bf16", "lr=0.1")
	}
	for name, model := range models {
		before, peak := model.settled(t)
		for _, change := range changes {
			t.Run(name+" "+change, func(t *testing.T) {
				if off := model.off(t, before, peak, strings.Replace(change, "=some", "="+model.some, 1)); off != 0 {
					t.Errorf("the predicted peak is off by %.2f %%", 100*off)
				}
			})
		}
	}
}

// settled returns a trainer whose steps find all memory where they need it, and their peak.
func (s sample) settled(t *testing.T) (*Trainer, int64) {
	t.Helper()
	trainer := s.trainer(t)
	return trainer, steps(t, trainer, 3)[2].Memory.PeakAllocated
}

// off predicts a change of a run, makes it in another run, and returns how far the
// predicted peak was off.
func (s sample) off(t *testing.T, before *Trainer, peak int64, change string) float64 {
	t.Helper()
	p := predict(t, before, change)
	after := s.trainer(t)
	for text := range strings.FieldsSeq(change) {
		set(t, after, text)
	}
	return trace.Off(float64(peak+p.PeakAllocated), float64(steps(t, after, 3)[2].Memory.PeakAllocated))
}

// trainer returns a trainer of the model on a device of its own.
func (s sample) trainer(t *testing.T) *Trainer {
	t.Helper()
	c, err := cpu.Open(cpu.Options{Capacity: 512 << 20, Threads: 1})
	fatal.If(t, err)
	t.Cleanup(func() { _ = c.Close() })
	a, err := alloc.New(c, alloc.Options{Name: "cpu:0"})
	fatal.If(t, err)
	build := func(d *tensor.Device) (nn.Module, error) { return nn.Build(d, device.Float32, 1, s.make) }
	d := tensor.NewDevice("cpu:0", a, c, tensor.Options{})
	model, err := build(d)
	fatal.If(t, err)
	t.Cleanup(func() { nn.Close(model) })
	dataset, err := s.data()
	fatal.If(t, err)
	b := &bench{device: d, model: model, set: dataset}
	return b.trainer(t, DefaultSettings(), func(c *Config) { c.Build, c.Batch = build, s.batch })
}
