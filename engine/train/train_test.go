package train

import (
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

// bench is a device with a model and data for one test.
type bench struct {
	device *tensor.Device
	model  nn.Module
	set    data.Dataset
	lost   int64 // bytes that a test loses on purpose
	close  func()
}

// newBench opens a device with a small GPT on the built-in text.
func newBench(t testing.TB, capacity int64, g nn.GPTConfig) *bench {
	t.Helper()
	return newBenchOf(t, capacity, device.Float32, g, Offload{})
}

// newBenchOf makes the GPT in a type, where a run that offloads has its parameters.
func newBenchOf(t testing.TB, capacity int64, dtype device.DType, g nn.GPTConfig, o Offload) *bench {
	t.Helper()
	c, err := cpu.Open(cpu.Options{Capacity: capacity})
	fatal.If(t, err)
	a, err := alloc.New(c, alloc.Options{Name: "cpu:0"})
	fatal.If(t, err)
	d := tensor.NewDevice("cpu:0", a, c, tensor.Options{})
	model, err := nn.Build((&Settings{Offload: o}).Home(d, nil), dtype, 1, func(b nn.Builder) *nn.GPT { return nn.NewGPT(b, g) })
	fatal.If(t, err)
	set, err := data.NewWindows(data.Corpus(), g.Context)
	fatal.If(t, err)
	b := &bench{device: d, model: model, set: set}
	b.close = func() {
		nn.Close(model)
		if live := d.Live() - b.lost; live != 0 {
			t.Errorf("%d bytes are still allocated at the end", live)
		}
		if h := d.HostMemory(); h != nil && h.Stats().RequestedBytes.All.Current != 0 {
			t.Errorf("%d bytes are still on the host at the end", h.Stats().RequestedBytes.All.Current)
		}
		fatal.If(t, c.Close())
	}
	t.Cleanup(func() { b.close() })
	return b
}

// tiny is the smallest GPT with every kind of layer.
func tiny() nn.GPTConfig {
	return nn.GPTConfig{Layers: 4, Dim: 16, Heads: 2, Context: 8, Vocab: 256, Bias: true}
}

// trainer returns a trainer of the bench's model, 8 samples a step.
func (b *bench) trainer(t testing.TB, s Settings, change func(*Config)) *Trainer {
	t.Helper()
	c := Config{Device: b.device, Model: b.model, Spec: b.set.Spec(), Batch: 8, Seed: 1, Settings: s}
	if change != nil {
		change(&c)
	}
	if c.Batches == nil {
		c.Batches = b.loader(t, data.LoaderOptions{Batch: c.Batch})
	}
	trainer, err := New(c)
	fatal.If(t, err)
	t.Cleanup(func() { trainer.Close() })
	return trainer
}

// loader returns batches of the bench's data.
func (b *bench) loader(t testing.TB, o data.LoaderOptions) *data.Loader {
	t.Helper()
	o.Seed = 1
	l, err := data.NewLoader(b.set, o)
	fatal.If(t, err)
	t.Cleanup(l.Close)
	return l
}

// steps takes n steps and returns their events.
func steps(t testing.TB, trainer *Trainer, n int) []Event {
	t.Helper()
	var list []Event
	for range n {
		e, err := trainer.Step(t.Context())
		fatal.If(t, err)
		list = append(list, e)
	}
	return list
}

func losses(events []Event) []float64 {
	var list []float64
	for _, e := range events {
		list = append(list, e.Loss)
	}
	return list
}

func newTrainer(t *testing.T, c Config) *Trainer {
	t.Helper()
	trainer, err := New(c)
	fatal.If(t, err)
	t.Cleanup(trainer.Close)
	return trainer
}

// Live returns the bytes allocated on the device between steps, by category:
// parameters, optimizer state, inputs, and the parameters in half precision that
// the next step reads. It counts the tensors themselves, for comparison with the
// allocator's numbers.
func (t *Trainer) Live() (bytes [trace.CategoryCount]int64) {
	add := func(c trace.Category, x *tensor.Tensor) {
		if x != nil && x.Device() == t.config.Device {
			bytes[c] += x.Bytes()
		}
	}
	for _, p := range t.parameters {
		add(trace.Parameter, p.Data())
		add(trace.Gradient, p.Grad())
	}
	for _, b := range nn.Buffers(t.config.Model) {
		add(trace.Parameter, b.Data())
	}
	for _, s := range t.optimizer.State() {
		add(trace.Optimizer, s.Data)
	}
	if t.scaler != nil {
		bytes[trace.Optimizer] += scalerBytes
	}
	bytes[trace.Workspace] = t.ctx.Casts()
	bytes[trace.Input] = t.input.Bytes() + t.target.Bytes()
	return bytes
}

// Source is one of the things that take a device's memory.
type Source struct {
	Name  string
	Bytes int64
}

// Sources returns the parts of reserved memory: parameters, gradients, optimizer
// state and the other categories, untagged memory, and fragmentation.
// They add up to Reserved.
func (m *Memory) Sources() []Source {
	b := &m.Now
	var list []Source
	for _, c := range trace.Categories {
		list = append(list, Source{c.String(), b.Category[c]})
	}
	return append(list, Source{"fragmentation", b.Rounding + b.PendingFree + b.InactiveSplit + b.Releasable})
}
