package train

import (
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
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
		"gpt":      {gpt(nn.GPTConfig{Layers: 4, Dim: 64, Heads: 4, Context: 64, Vocab: 256, Bias: true}), windows(64), 8, "wte+wpe+lm_head+loss"},
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
		"loss=pytorch", "host=auto", "host=loss", "host=some",
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

// outcome is how far a prediction of the peak and of the step time was off, as memtop's
// ledger of past predictions has it. ranged says that the time was predicted as a range,
// missed that it was outside of the range.
type outcome struct {
	peak, time     float64
	ranged, missed bool
}

// TestPredictionsOfManyModels predicts and measures changes of one setting and of two,
// of several models. With MEMTOP_LONG it takes all of them, and prints the table of
// errors by change (make predictions). Steps with the change and without it take turns,
// on one core each, and their times are the processor's, so that other programs on the
// machine change little. With MEMTOP_CLOCK=wall they compute on all cores, and their
// times are those of a clock on the wall.
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
		before := model.settled(t)
		for _, change := range changes {
			t.Run(name+" "+change, func(t *testing.T) {
				o := model.outcome(t, before, strings.Replace(change, "=some", "="+model.some, 1))
				all[change] = append(all[change], o)
				if math.Abs(o.peak) > 0.1 {
					t.Errorf("the predicted peak is off by %.1f %%", 100*o.peak)
				}
				if math.Abs(o.time) > 0.25 {
					t.Logf("the predicted step time is off by %.0f %%", 100*o.time)
				}
				if long && math.Abs(o.time) > 0.5 && (!o.ranged || o.missed) {
					t.Errorf("the predicted step time is off by %.0f %%, and no range has it", 100*o.time)
				}
			})
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
	if mean, _ := absolute(every, func(o outcome) float64 { return o.time }); long && mean > 0.1 {
		t.Errorf("predicted step times are off by %.0f %% on average", 100*mean)
	}
}

func errorRow(name string, list []outcome) string {
	mean, worst := absolute(list, func(o outcome) float64 { return o.peak })
	time, slowest := absolute(list, func(o outcome) float64 { return o.time })
	ranged, missed := 0, 0
	for _, o := range list {
		if o.ranged {
			ranged++
		}
		if o.missed {
			missed++
		}
	}
	return fmt.Sprintf("%-38s peak: mean %.2f %%, worst %.2f %%; step time: mean %2.0f %%, worst %2.0f %%; "+
		"%d ranges, %d outside (%d)", name, 100*mean, 100*worst, 100*time, 100*slowest, ranged, missed, len(list))
}

// absolute returns the mean and the largest of absolute errors.
func absolute(list []outcome, of func(outcome) float64) (mean, worst float64) {
	for _, o := range list {
		mean += math.Abs(of(o)) / float64(len(list))
		worst = max(worst, math.Abs(of(o)))
	}
	return mean, worst
}

// unsettled is how many steps after a change do not find all memory where they need it,
// turns how many steps are compared: few where only memory is held to a limit.
const unsettled = 2

func turns() int {
	if os.Getenv("MEMTOP_LONG") != "" {
		return 9
	}
	return 2
}

// settled returns a trainer whose steps have been measured.
func (s sample) settled(t *testing.T) *Trainer {
	t.Helper()
	trainer := s.trainer(t)
	for range unsettled + turns() {
		took(t, trainer)
	}
	return trainer
}

// took takes a step and returns its time.
func took(t *testing.T, trainer *Trainer) float64 {
	t.Helper()
	began := trainer.clock()
	e := steps(t, trainer, 1)[0]
	took := trainer.clock() - began
	trainer.Report(&e)
	return float64(took)
}

// outcome predicts a change of a run, makes it in another run, and compares.
func (s sample) outcome(t *testing.T, before *Trainer, change string) outcome {
	t.Helper()
	p := predict(t, before, change)
	usual := before.stepTimes.usual(before.report.last.Settings)
	after := s.trainer(t)
	for text := range strings.FieldsSeq(change) {
		set(t, after, text)
	}
	for range unsettled {
		took(t, after)
	}
	var ratios []float64
	for range turns() {
		ratios = append(ratios, took(t, after)/took(t, before))
	}
	least, most := p.StepTimes()
	ratio := func(change int64) float64 { return 1 + float64(change)/float64(usual) }
	measured := middle(ratios)
	return outcome{
		peak:   trace.Off(float64(before.report.last.PeakAllocated+p.PeakAllocated), float64(after.report.last.PeakAllocated)),
		time:   trace.Off(ratio(p.StepTime), measured),
		ranged: least < most, missed: least < most && (measured < ratio(least) || measured > ratio(most)),
	}
}

// trainer returns a trainer of the model on a device of its own.
func (s sample) trainer(t *testing.T) *Trainer {
	t.Helper()
	wall := os.Getenv("MEMTOP_CLOCK") == "wall"
	threads := 1
	if wall {
		threads = 0 // all
	}
	c, err := cpu.Open(cpu.Options{Capacity: 512 << 20, Threads: threads})
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
	trainer := b.trainer(t, DefaultSettings(), func(c *Config) { c.Build, c.Batch = build, s.batch })
	if !wall {
		runtime.LockOSThread()
		t.Cleanup(runtime.UnlockOSThread)
		trainer.clock = processorTime
	}
	return trainer
}
