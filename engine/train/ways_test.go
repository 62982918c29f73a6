package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/recompute"
	"github.com/memtop/memtop/engine/tensor"
)

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
