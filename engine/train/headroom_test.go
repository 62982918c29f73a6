package train

import (
	"errors"
	"math"
	"testing"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheHeadroomIsWhatFits compares a small run's headroom for a memory with the
// result of trying runs on memories of that size, by doubling and bisection.
func TestTheHeadroomIsWhatFits(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	g := nn.GPTConfig{Layers: 2, Dim: 32, Heads: 2, Context: 64, Vocab: 256, Bias: true}
	for name, test := range map[string]struct {
		capacity int64
		change   string // made to what the run has
	}{
		"as it is":             {32 << 20, "clip=1"},
		"with checkpoints":     {16 << 20, "checkpoint=block"},
		"in half precision":    {28 << 20, "amp=bf16"},
		"in parts":             {32 << 20, "accumulate=2"},
		"in one that is small": {2 << 20, "clip=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trainer := rehearsing(t, g)
			h, err := trainer.Headroom(t.Context(), values(test.change), test.capacity)
			if err != nil {
				t.Fatal(err)
			}
			set(t, trainer, test.change)
			good, _ := most(h.Samples, func(n int) (bool, error) { return fits(t, g, n, test.capacity, trainer.Settings()), nil })
			t.Logf("%d samples fit, said %d; %d bytes and %d for each", good, h.Most, h.Fixed, h.PerSample)
			if h.Most != good {
				t.Errorf("%d samples fit, said %d", good, h.Most)
			}
			measured := steps(t, trainer, 2)[1].Memory.PeakAllocated
			if line := h.Fixed + int64(h.Samples)*h.PerSample; math.Abs(float64(line-measured)) > 0.01*float64(measured) {
				t.Errorf("%d samples take %d bytes, said %d", h.Samples, measured, line)
			}
		})
	}
}

func TestAHeadroomThatCannotBeKnown(t *testing.T) {
	trainer := rehearsing(t, tiny())
	for name, test := range map[string]struct {
		changes  []trace.Value
		capacity int64
	}{
		"of a device of unknown size": {nil, 0},
		"with a value that is none":   {values("amp=tf32"), 1 << 30},
	} {
		if h, err := trainer.Headroom(t.Context(), test.changes, test.capacity); err == nil {
			t.Errorf("%s: got %+v", name, h)
		}
	}
}

// fits reports whether three steps with n samples at a time fit into a real memory.
func fits(t *testing.T, g nn.GPTConfig, n int, capacity int64, s Settings) bool {
	t.Helper()
	c, err := cpu.Open(cpu.Options{Capacity: capacity})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	a, err := alloc.New(c, alloc.Options{Name: "cpu:0"})
	if err != nil {
		t.Fatal(err)
	}
	d := tensor.NewDevice("cpu:0", a, c, tensor.Options{})
	model, err := gpt(g)(d)
	if err == nil {
		defer nn.Close(model)
		err = trains(t, d, model, g, n*max(s.Accumulate, 1), s)
	}
	var oom *OutOfMemoryError
	if err != nil && !errors.As(OutOfMemory(err, "a trial"), &oom) {
		t.Fatal(err)
	}
	return err == nil
}

func trains(t *testing.T, d *tensor.Device, model nn.Module, g nn.GPTConfig, batch int, s Settings) error {
	t.Helper()
	set, err := data.NewWindows(data.Corpus(), g.Context)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := New(Config{
		Device: d, Model: model, Spec: set.Spec(), Batch: batch, Settings: s, Batches: empty{data.Empty(set.Spec(), batch)},
	})
	if err != nil {
		return err
	}
	defer trainer.Close()
	for range 3 {
		if _, err := trainer.Step(t.Context()); err != nil {
			return err
		}
	}
	return nil
}
