package train

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/recompute"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
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
	fatal.IfShort(t)
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

// TestTheHeadroomIsWhatFits runs as many samples as are said to fit into a memory,
// and one more.
func TestTheHeadroomIsWhatFits(t *testing.T) {
	fatal.IfShort(t)
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
			fatal.If(t, err)
			set(t, trainer, test.change)
			s := trainer.Settings()
			for n, want := range map[int]bool{h.Most: true, h.Most + 1: false} {
				p := Plan{Build: gpt(g), Spec: trainer.config.Spec, Batch: n * max(s.Accumulate, 1), Capacity: test.capacity, Settings: s}
				if n > 0 && tryRun(t, p) != want {
					t.Errorf("said %d samples fit, but %d run: %v", h.Most, n, !want)
				}
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

// plans are small models of every kind, in few enough blocks to try every choice.
func plans(t *testing.T) map[string]Plan {
	t.Helper()
	g := tiny()
	g.Layers, g.Dim, g.Context, g.Dropout = 3, 32, 32, 0.1
	windows, err := data.NewWindows(data.Corpus(), g.Context)
	fatal.If(t, err)
	conv := func(b nn.Builder) nn.Module {
		return nn.NewConvNet(b, nn.ConvNetConfig{Channels: 3, Width: 8, Layers: 4, Classes: 4})
	}
	mlp := func(b nn.Builder) nn.Module {
		return nn.NewMLP(b, nn.MLPConfig{In: 32, Hidden: 64, Out: 5, Layers: 6})
	}
	build := func(f func(nn.Builder) nn.Module) func(d *tensor.Device) (nn.Module, error) {
		return func(d *tensor.Device) (nn.Module, error) { return nn.Build(d, device.Float32, 1, f) }
	}
	parts := DefaultSettings()
	parts.MicroBatch = 3
	return map[string]Plan{
		"gpt":          {Build: gpt(g), Spec: windows.Spec(), Batch: 8, Settings: DefaultSettings()},
		"gpt in parts": {Build: gpt(g), Spec: windows.Spec(), Batch: 8, Settings: parts},
		"conv":         {Build: build(conv), Spec: data.Figures{Channels: 3, Side: 32}.Spec(), Batch: 16, Settings: DefaultSettings()},
		"mlp":          {Build: build(mlp), Spec: data.Spirals{Features: 32, Classes: 5}.Spec(), Batch: 512, Settings: DefaultSettings()},
	}
}

// tried is a choice of layers and what a step needs with it.
type tried struct {
	names []string
	peak  int64
	cost  int64
}

// every rehearses each choice of ways to run the blocks.
func every(t *testing.T, p Plan, f profile) (list []tried) {
	t.Helper()
	err := p.stage(func(tr *Trainer) error {
		for choice := range combinations(f.blocks) {
			s := p.Settings
			s.Checkpoint = nn.Layers(choice...)
			e, err := tr.estimate(t.Context(), s)
			if err != nil {
				return err
			}
			list = append(list, tried{choice, e.Memory.PeakAllocated, f.cost(choice)})
		}
		return nil
	})
	fatal.If(t, err)
	return list
}

// combinations yields every choice of ways.
func combinations(blocks [][][]string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		var add func(i int, names []string) bool
		add = func(i int, names []string) bool {
			if i == len(blocks) {
				return yield(slices.Clone(names))
			}
			for _, way := range blocks[i] {
				if !add(i+1, slices.Concat(names, way)) {
					return false
				}
			}
			return true
		}
		add(0, nil)
	}
}

// TestTheWaysOfAPlanAreTheCheapestWithinItsLimit compares what is chosen from the
// profile with every other choice of layers, for random limits.
func TestTheWaysOfAPlanAreTheCheapestWithinItsLimit(t *testing.T) {
	fatal.IfShort(t)
	for name, p := range plans(t) {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			f, err := p.profile(t.Context())
			fatal.If(t, err)
			for i := range f.layers { // no two layers cost the same
				f.layers[i].OutputBytes += r.Int64N(1000)
			}
			all := every(t, p, f)
			least := slices.MinFunc(all, func(a, b tried) int { return int(a.peak - b.peak) })
			free, again := all[0], 0
			problem := f.problem()
			for range 20 {
				problem.Limit = least.peak + r.Int64N(free.peak-least.peak+1)
				s, ok := recompute.Solve(problem)
				if !ok {
					t.Fatalf("%d bytes: nothing is chosen, and %v needs %d", problem.Limit, least.names, least.peak)
				}
				var names []string
				for i, way := range s.Choices {
					names = append(names, f.blocks[i][way]...)
				}
				got, want := all[slices.IndexFunc(all, func(c tried) bool { return slices.Equal(c.names, names) })], free
				want.cost = math.MaxInt64
				for _, c := range all {
					if c.peak <= problem.Limit && c.cost < want.cost {
						want = c
					}
				}
				if got.peak > problem.Limit || float64(got.cost) > 1.05*float64(want.cost) {
					t.Errorf("%d bytes: %v needs %d and costs %d, %v needs %d and costs %d", problem.Limit, names, got.peak, got.cost, want.names, want.peak, want.cost)
				}
				again += len(names)
			}
			if again == 0 && least.peak < free.peak {
				t.Error("no plan computes anything again")
			}
			t.Logf("%d choices, between %d and %d bytes", len(all), least.peak, free.peak)
		})
	}
}
