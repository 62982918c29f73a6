package train

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// sample is a model whose predictions are compared with what is measured.
type sample struct {
	make  func(nn.Builder) nn.Module
	data  func() (data.Dataset, error)
	batch int
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
		"gpt":      {gpt(nn.GPTConfig{Layers: 4, Dim: 64, Heads: 4, Context: 64, Vocab: 256, Bias: true}), windows(64), 8},
		"gpt deep": {gpt(nn.GPTConfig{Layers: 8, Dim: 48, Heads: 2, Context: 96, Vocab: 256, Dropout: 0.1, Bias: true}), windows(96), 8},
		"llama": {func(b nn.Builder) nn.Module {
			return nn.NewLlama(b, nn.LlamaConfig{Layers: 4, Dim: 64, Heads: 4, KVHeads: 2, Hidden: 160, Context: 64, Vocab: 256})
		}, windows(64), 8},
		"mlp": {func(b nn.Builder) nn.Module {
			return nn.NewMLP(b, nn.MLPConfig{In: 32, Hidden: 256, Out: 5, Layers: 6})
		}, func() (data.Dataset, error) { return spirals, nil }, 512},
		"conv": {func(b nn.Builder) nn.Module {
			return nn.NewConvNet(b, nn.ConvNetConfig{Channels: 3, Width: 16, Layers: 3, Classes: figures.Spec().Classes})
		}, func() (data.Dataset, error) { return figures, nil }, 32},
	}
}

// singles are the settings that are predicted for each model; pairs are settings
// that are changed together.
var (
	singles = []string{
		"checkpoint=block", "checkpoint=sqrt", "checkpoint=selective", "checkpoint=every=2", "amp=bf16", "amp=fp16",
		"optimizer=sgd", "optimizer=adam", "optimizer=adamw8bit", "optimizer=lion", "attention=naive", "attention=chunked", "attention=flash",
		"accumulate=2", "micro_batch=2", "offload=optimizer", "offload=gradients", "offload=parameters", "offload=activations",
		"loss=pytorch", "host=auto", "host=loss",
	}
	pairs = []string{
		"checkpoint=block amp=bf16", "checkpoint=block optimizer=adamw8bit", "checkpoint=block micro_batch=2", "checkpoint=block attention=flash",
		"checkpoint=block offload=optimizer", "checkpoint=sqrt amp=bf16", "checkpoint=sqrt accumulate=2", "checkpoint=selective amp=bf16",
		"checkpoint=block amp=fp16", "amp=bf16 optimizer=adamw8bit", "amp=bf16 micro_batch=2", "amp=bf16 attention=naive", "amp=bf16 offload=optimizer",
		"amp=fp16 optimizer=lion", "amp=bf16 offload=activations", "micro_batch=2 offload=optimizer", "micro_batch=2 optimizer=sgd",
		"optimizer=adamw8bit offload=gradients", "checkpoint=block offload=activations", "accumulate=2 offload=gradients",
		"loss=pytorch amp=bf16", "loss=pytorch micro_batch=2",
	}
)

// outcome is the error of a prediction: for the peak as a fraction of the
// measured peak, for the step time as a fraction of the time before. Times are
// the shortest of several steps, because other programs slow down the rest.
type outcome struct{ peak, time float64 }

// TestPredictionsOfManyModels predicts and measures changes of one setting and of two,
// of several models. With MEMTOP_LONG it takes all of them, and prints the table of
// errors by change (make predictions).
func TestPredictionsOfManyModels(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	long := os.Getenv("MEMTOP_LONG") != ""
	models, changes := samples(), append(slices.Clone(singles), pairs...)
	if !long {
		maps.DeleteFunc(models, func(name string, _ sample) bool { return name != "gpt" && name != "conv" })
		changes = []string{"checkpoint=sqrt", "amp=bf16", "micro_batch=2", "offload=activations", "checkpoint=block amp=bf16"}
	}
	all := make(map[string][]outcome)
	for name, model := range models {
		for _, change := range changes {
			o := model.outcome(t, change)
			all[change] = append(all[change], o)
			if math.Abs(o.peak) > 0.1 {
				t.Errorf("%s, %s: the predicted peak is off by %.1f %%", name, change, 100*o.peak)
			}
		}
	}
	var every []outcome
	for _, change := range changes {
		t.Log(errorRow(change, all[change]))
		every = append(every, all[change]...)
	}
	t.Log(errorRow("all", every))
	if mean, _ := absolute(every, func(o outcome) float64 { return o.peak }); mean > 0.03 {
		t.Errorf("predicted peaks are off by %.1f %% on average", 100*mean)
	}
}

func errorRow(name string, list []outcome) string {
	mean, worst := absolute(list, func(o outcome) float64 { return o.peak })
	time, slowest := absolute(list, func(o outcome) float64 { return o.time })
	return fmt.Sprintf("%-38s peak: mean %.2f %%, worst %.2f %%; step time: mean %3.0f %%, worst %3.0f %% (%d)",
		name, 100*mean, 100*worst, 100*time, 100*slowest, len(list))
}

// absolute returns the mean and the largest of absolute errors.
func absolute(list []outcome, of func(outcome) float64) (mean, worst float64) {
	for _, o := range list {
		mean += math.Abs(of(o)) / float64(len(list))
		worst = max(worst, math.Abs(of(o)))
	}
	return mean, worst
}

// outcome predicts a change, makes it, and compares.
func (s sample) outcome(t *testing.T, change string) outcome {
	t.Helper()
	trainer := s.trainer(t)
	before, least := settledStep(t, trainer)
	p := predict(t, trainer, change)
	usual := trainer.stepTimes.usual(before.Settings)
	for text := range strings.FieldsSeq(change) {
		set(t, trainer, text)
	}
	after, leastAfter := settledStep(t, trainer)
	return outcome{
		peak: float64(before.PeakAllocated+p.PeakAllocated)/float64(after.PeakAllocated) - 1,
		time: 1 + float64(p.StepTime)/float64(usual) - float64(leastAfter)/float64(least),
	}
}

// settledStep takes steps and returns the last, and the shortest time of those that
// found all memory where they needed it.
func settledStep(t *testing.T, trainer *Trainer) (last trace.Step, least int64) {
	t.Helper()
	const unsettled, settled = 2, 7
	least = math.MaxInt64
	for i := range unsettled + settled {
		e := steps(t, trainer, 1)[0]
		if last = trainer.Report(&e); i >= unsettled {
			least = min(least, last.Duration)
		}
	}
	return last, least
}

// trainer returns a trainer of the model on a device of its own.
func (s sample) trainer(t *testing.T) *Trainer {
	t.Helper()
	c, err := cpu.Open(cpu.Options{Capacity: 512 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	a, err := alloc.New(c, alloc.Options{Name: "cpu:0"})
	if err != nil {
		t.Fatal(err)
	}
	build := func(d *tensor.Device) (nn.Module, error) { return nn.Build(d, device.Float32, 1, s.make) }
	d := tensor.NewDevice("cpu:0", a, c, tensor.Options{})
	model, err := build(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nn.Close(model) })
	dataset, err := s.data()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{device: d, model: model, set: dataset}
	return b.trainer(t, DefaultSettings(), func(c *Config) { c.Build, c.Batch = build, s.batch })
}
