package train

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

// normalised is a config with running statistics.
func normalised(t *testing.T) Config {
	t.Helper()
	return Config{
		Device: tensortest.Device(t), Data: data.Figures{Seed: 1, Channels: 2, Side: 8}, Batch: 8, Seed: 3, Settings: DefaultSettings(),
		Build: func(d *tensor.Device) (nn.Module, error) {
			return nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.Sequential {
				return nn.NewConvNet(b, nn.ConvNetConfig{Channels: 2, Width: 4, Layers: 2, Classes: 10, BatchNorm: true})
			})
		},
	}
}

func runningOf(trainer *Trainer) [][]float64 {
	var list [][]float64
	for _, p := range nn.State(trainer.config.Model) {
		list = append(list, p.Data().Floats())
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

func TestRunningStatisticsOfAStepThatFailedCountOnce(t *testing.T) {
	whole := newTrainer(t, normalised(t))
	want := losses(steps(t, whole, 4))
	broken := newTrainer(t, normalised(t))
	got := losses(steps(t, broken, 2))
	fails := true
	broken.Ctx().AddHooks(nn.Hooks{Backward: func(*nn.Ctx, *nn.Layer, *tensor.Tensor) {
		if fails {
			fails = false
			panic(&tensor.Failure{Doing: "a test", Err: errors.New("broken")})
		}
	}})
	if _, err := broken.Step(t.Context()); err == nil || fails {
		t.Fatalf("the step did not fail: %v", err)
	}
	got = append(got, losses(steps(t, broken, 2))...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("losses (-whole +failed and taken again):\n%s", diff)
	}
	if diff := cmp.Diff(runningOf(whole), runningOf(broken)); diff != "" {
		t.Errorf("running statistics (-whole +failed and taken again):\n%s", diff)
	}
}

func TestRunningStatisticsAreSaved(t *testing.T) {
	first := newTrainer(t, normalised(t))
	steps(t, first, 3)
	path := filepath.Join(t.TempDir(), "run")
	save(t, first, path, nil)
	saved, err := Open(path)
	fatal.If(t, err)
	defer saved.Close()
	second := newTrainer(t, normalised(t))
	fatal.If(t, second.Resume(saved))
	if diff := cmp.Diff(runningOf(first), runningOf(second)); diff != "" || len(runningOf(first)) != 4 {
		t.Errorf("running statistics (-saved +resumed):\n%s", diff)
	}
}

// TestRunningStatisticsMoveWithEachPartOfABatch has two parts count as two batches.
func TestRunningStatisticsMoveWithEachPartOfABatch(t *testing.T) {
	whole, parts := normalised(t), normalised(t)
	whole.Settings.LR, parts.Settings.LR = 0, 0
	whole.Batch, parts.Settings.Accumulate = 4, 2
	one, two := newTrainer(t, whole), newTrainer(t, parts)
	steps(t, one, 4)
	steps(t, two, 2)
	if diff := cmp.Diff(runningOf(one), runningOf(two)); diff != "" {
		t.Errorf("running statistics (-four batches +two in two parts):\n%s", diff)
	}
}

func TestRunningStatisticsAreEstimatedAndStayOnTheDevice(t *testing.T) {
	for _, offload := range []string{"none", "parameters", "optimizer+gradients+parameters+activations"} {
		c := normalised(t)
		c.Settings.Offload, _ = ParseOffload(offload)
		trainer := newTrainer(t, c)
		measured := steps(t, trainer, estimatedSteps)[estimatedSteps-1]
		plan := trainer.plan()
		plan.Settings = c.Settings
		estimate, err := plan.Estimate(t.Context())
		fatal.If(t, err)
		if diff := cmp.Diff(estimate.Memory, measured.Memory); diff != "" {
			t.Errorf("%s: memory (-estimate +measured):\n%s", offload, diff)
		}
		for _, p := range nn.State(trainer.config.Model) {
			if p.Data().Device() != c.Device {
				t.Errorf("%s: %s is on %s", offload, p.Name(), p.Data().Device().Name())
			}
		}
		if live, want := trainer.Live(), measured.Memory.Now.Category; live != want {
			t.Errorf("%s: %v is live, the allocator has %v", offload, live, want)
		}
	}
}
