package train

import (
	"errors"
	"testing"

	"memtop/engine/alloc"
	"memtop/engine/data"
	"memtop/engine/device/cpu"
	"memtop/engine/nn"
	"memtop/engine/tensor"
)

// tryRun takes steps on a device of its own and reports whether its memory was
// enough for them.
func tryRun(t *testing.T, p Plan) bool {
	t.Helper()
	c, err := cpu.Open(cpu.Options{Capacity: p.Capacity})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	a, err := alloc.New(c, p.Allocator)
	if err != nil {
		t.Fatal(err)
	}
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

// TestAPlanFitsWhereItsStepsRun tries devices of every size, and every remedy on
// those that are too small.
func TestAPlanFitsWhereItsStepsRun(t *testing.T) {
	g := tiny()
	g.Context, g.Dim = 64, 64
	set, err := data.NewWindows(data.Corpus(), g.Context)
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{Build: gpt(g), Spec: set.Spec(), Batch: 8, Settings: DefaultSettings()}
	fitted, refused, remedied := 0, 0, 0
	for p.Capacity = 2 << 20; p.Capacity <= 24<<20; p.Capacity += 2 << 20 {
		needs, fits, err := p.Fits(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
		remedied += tryRemedies(t, p)
	}
	if fitted == 0 || refused == 0 || remedied == 0 {
		t.Errorf("%d sizes fit, %d do not, of which %d have a remedy: want some of each", fitted, refused, remedied)
	}
}

// tryRemedies runs a plan with each of its remedies, and returns how many there
// are.
func tryRemedies(t *testing.T, p Plan) int {
	t.Helper()
	fitting, least, err := p.Remedies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(fitting) == 0 && (least.Changes == nil || least.Needs.Memory.PeakReserved <= p.Capacity) {
		t.Errorf("%d MiB: no remedy, and the least is %v with %d bytes", p.Capacity>>20, least.Changes, least.Needs.Memory.PeakReserved)
	}
	for _, r := range fitting {
		q := p
		for _, c := range r.Changes {
			if q.Settings, err = q.Settings.With(c.Key, c.Value); err != nil {
				t.Fatal(err)
			}
		}
		if !tryRun(t, q) {
			t.Errorf("%d MiB: %v does not make it fit", p.Capacity>>20, r.Changes)
		}
	}
	return len(fitting)
}
