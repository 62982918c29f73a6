package train

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

// plans are small models of every kind, in few enough blocks to try every choice.
func plans(t *testing.T) map[string]Plan {
	t.Helper()
	g := tiny()
	g.Layers, g.Dim, g.Context, g.Dropout = 3, 32, 32, 0.1
	windows, err := data.NewWindows(data.Corpus(), g.Context)
	if err != nil {
		t.Fatal(err)
	}
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
			list = append(list, tried{choice, e.Memory.PeakAllocated, f.cost(choice, p.times)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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

// TestAPlanIsTheCheapestThatStaysWithinItsLimit compares plans with every other
// choice of layers, for random limits and random times of the layers.
func TestAPlanIsTheCheapestThatStaysWithinItsLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	for name, p := range plans(t) {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			f, err := p.profile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.times = make(map[string]int64)
			for i := range f.layers {
				p.times[f.layers[i].Name] = 1 + r.Int64N(1000)
			}
			all := every(t, p, f)
			least := slices.MinFunc(all, func(a, b tried) int { return int(a.peak - b.peak) })
			free := all[0]
			if f.free != free.peak {
				t.Errorf("kept whole it needs %d bytes in the profile, and %d", f.free, free.peak)
			}
			planned := 0
			for range 20 {
				limit := least.peak + r.Int64N(free.peak-least.peak+1)
				p.Settings.Checkpoint = nn.Planned(limit)
				names, err := p.checkpoints(t.Context())
				if err != nil {
					t.Fatalf("%d bytes: %v", limit, err)
				}
				want := free
				want.cost = 1 << 62
				for _, c := range all {
					if c.peak <= limit && c.cost < want.cost {
						want = c
					}
				}
				peak, err := p.peakWith(t.Context(), names)
				if err != nil || peak > limit {
					t.Errorf("%d bytes: %v needs %d, error %v", limit, names, peak, err)
				}
				if cost := f.cost(names, p.times); float64(cost) > 1.05*float64(want.cost) {
					t.Errorf("%d bytes: %v costs %d, and %v %d", limit, names, cost, want.names, want.cost)
				}
				planned += len(names)
			}
			if planned == 0 && least.peak < free.peak {
				t.Error("no plan computes anything again")
			}
			p.Settings.Checkpoint = nn.Planned(least.peak - 1)
			if names, err := p.checkpoints(t.Context()); err == nil || !strings.Contains(err.Error(), "a step takes") {
				t.Errorf("one byte below the least: planned %v, error %v", names, err)
			}
			t.Logf("%d choices, between %d and %d bytes", len(all), least.peak, free.peak)
		})
	}
}

// TestWhatAPlanTakesTooMuchIsTakenOffTheLimitOfTheNext uses a model with blocks
// that need more next to each other than the profile says. A limit that no choice
// can keep must be refused after one rehearsal, and not after a rehearsal of each
// slightly smaller choice.
func TestWhatAPlanTakesTooMuchIsTakenOffTheLimitOfTheNext(t *testing.T) {
	p := plans(t)["conv"]
	p.Settings.AMP, p.Settings.MicroBatch = amp.BF16, 2
	f, err := p.profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	least := slices.MinFunc(every(t, p, f), func(a, b tried) int { return int(a.peak - b.peak) })
	p.Settings.Checkpoint = nn.Planned(least.peak - 1)
	built, build := 0, p.Build
	p.Build = func(d *tensor.Device) (nn.Module, error) {
		built++
		return build(d)
	}
	if names, err := p.checkpoints(t.Context()); err == nil || built != 2 {
		t.Errorf("planned %v, error %v, with %d models built; want an error, and one for the profile and one for a rehearsal", names, err, built)
	}
}

// TestAPlanHoldsInARun changes a running trainer to plans.
func TestAPlanHoldsInARun(t *testing.T) {
	g := tiny()
	g.Dim, g.Context = 32, 32
	b := newBench(t, 64<<20, g)
	trainer := b.trainer(t, DefaultSettings(), func(c *Config) { c.Build = gpt(g) })
	free := steps(t, trainer, timedStep)[timedStep-1].Memory.PeakAllocated
	if trainer.times.known() != nil {
		t.Error("times are known before the step that is timed has ended")
	}
	before := free
	for _, part := range []float64{0.9, 0.8, 0.7} {
		limit := int64(part * float64(free))
		if err := trainer.Change("checkpoint", nn.Planned(limit).String()); err != nil {
			t.Fatal(err)
		}
		e := steps(t, trainer, 2)[1]
		if got := e.Memory.PeakAllocated; got > limit || got >= before {
			t.Errorf("a plan for %d bytes needs %d, and the one before %d", limit, got, before)
		}
		before = e.Memory.PeakAllocated
	}
	if trainer.times.known()["h.0"] == 0 {
		t.Error("the times of layers are not known")
	}
	if err := trainer.Change("checkpoint", "plan"); err != nil {
		t.Fatal(err)
	}
	if half := steps(t, trainer, 2)[1]; half.Memory.PeakAllocated >= free || half.Settings.Checkpoint.String() != "plan" {
		t.Errorf("halfway needs %d bytes with %v, and without checkpoints %d", half.Memory.PeakAllocated, half.Settings.Checkpoint, free)
	}
	for value, want := range map[string]string{
		"plan=1KiB":      "a step takes",
		"layers=h.0+h.9": `there is no layer "h.9", but drop, h, h.0 …`,
	} {
		if err := trainer.Change("checkpoint", value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want something about %q", value, err, want)
		}
	}
	if got := trainer.Settings().Checkpoint.String(); got != "plan" {
		t.Errorf("after changes that were refused the setting is %s", got)
	}
}
