package train

import (
	"errors"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

// tryRun takes steps on a device of its own and reports whether its memory was
// enough for them.
func tryRun(t *testing.T, p Plan) bool {
	t.Helper()
	c, err := cpu.Open(cpu.Options{Capacity: p.Capacity})
	fatal.If(t, err)
	defer func() { _ = c.Close() }()
	a, err := alloc.New(c, p.Allocator)
	fatal.If(t, err)
	err = func() error {
		d := tensor.NewDevice("cpu:0", a, c, tensor.Options{})
		model, err := p.Build(d)
		if err != nil {
			return err
		}
		defer nn.Close(model)
		trainer, err := New(Config{
			Device: d, Model: model, Spec: p.Spec, Batch: p.Batch, Settings: p.Settings,
			Batches: empty{data.Empty(p.Spec, p.Batch)},
		})
		if err != nil {
			return err
		}
		defer trainer.Close()
		for range estimatedSteps {
			if _, err := trainer.Step(t.Context()); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil && !errors.Is(err, alloc.ErrNoMemory) {
		t.Fatal(err)
	}
	return err == nil
}

// TestAPlanFitsWhereItsStepsRun tries devices of every size, and the remedy on those
// that are too small.
func TestAPlanFitsWhereItsStepsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	g := tiny()
	g.Context, g.Dim = 64, 64
	set, err := data.NewWindows(data.Corpus(), g.Context)
	fatal.If(t, err)
	p := Plan{Build: gpt(g), Spec: set.Spec(), Batch: 8, Settings: DefaultSettings()}
	fitted, refused, remedied := 0, 0, 0
	for p.Capacity = 2 << 20; p.Capacity <= 24<<20; p.Capacity += 4 << 20 {
		needs, fits, err := p.Fits(t.Context())
		fatal.If(t, err)
		if ran := tryRun(t, p); ran != fits {
			t.Errorf("%d MiB: it fits %v, it runs %v", p.Capacity>>20, fits, ran)
		}
		if fits {
			fitted++
			continue
		}
		refused++
		if needs.Memory.PeakReserved <= p.Capacity {
			t.Errorf("%d MiB: it does not fit, and needs %d bytes", p.Capacity>>20, needs.Memory.PeakReserved)
		}
		remedied += tryRemedy(t, p)
	}
	if fitted == 0 || refused == 0 || remedied == 0 {
		t.Errorf("%d sizes fit, %d do not, of which %d have a remedy: want some of each", fitted, refused, remedied)
	}
}

// tryRemedy runs a plan with its remedy, and returns how many it has.
func tryRemedy(t *testing.T, p Plan) int {
	t.Helper()
	r, err := p.Within(t.Context(), p.Capacity)
	if small := new(TooSmallError); errors.As(err, &small) {
		if small.Least <= small.Bytes {
			t.Errorf("the least is %d bytes, but %d are too little", small.Least, small.Bytes)
		}
		return 0
	}
	fatal.If(t, err)
	if p.Settings, err = p.Settings.changed(r.Changes); err != nil {
		t.Fatal(err)
	}
	if len(r.Changes) == 0 || !tryRun(t, p) {
		t.Errorf("%d MiB: %v does not make it fit", p.Capacity>>20, r.Changes)
	}
	return 1
}
