package train

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

func gpt(g nn.GPTConfig) func(d *tensor.Device) (nn.Module, error) {
	return func(d *tensor.Device) (nn.Module, error) {
		return nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.GPT { return nn.NewGPT(b, g) })
	}
}

func TestEstimateEqualsWhatIsMeasured(t *testing.T) {
	fatal.IfShort(t)
	tests := map[string]func(*Settings){
		"as it comes":            func(*Settings) {},
		"per block":              func(s *Settings) { s.Checkpoint = nn.PerBlock() },
		"square root, in parts":  func(s *Settings) { s.Checkpoint, s.Accumulate = nn.SqrtN(), 4 },
		"selective, bf16, flash": func(s *Settings) { s.Checkpoint, s.AMP, s.Attention = nn.Selective(), amp.BF16, nn.FlashAttention },
		"fp16, eight bits":       func(s *Settings) { s.AMP, s.Optimizer = amp.FP16, optim.Defaults(optim.AdamW8bit) },
		"state on the host":      func(s *Settings) { s.Offload.Optimizer = true },
		"all on the host, in parts": func(s *Settings) {
			s.Offload, s.Accumulate, s.AMP = Offload{true, true, AllLayers, AllLayers}, 2, amp.BF16
		},
		"embedding, head and loss compute on the host": func(s *Settings) { s.Host = "wte+wpe+lm_head+loss" },
		"the head and a block compute on the host, bf16, in parts": func(s *Settings) {
			s.Host, s.AMP, s.Accumulate, s.Checkpoint = "lm_head+h.1", amp.BF16, 2, nn.PerBlock()
		},
		"PyTorch's loss, bf16, in parts": func(s *Settings) { s.LossMemory, s.AMP, s.Accumulate = nn.PyTorchLoss, amp.BF16, 4 },
		"PyTorch's loss, fp16, saved on the host": func(s *Settings) {
			s.LossMemory, s.AMP, s.Offload.Activations = nn.PyTorchLoss, amp.FP16, AllLayers
		},
		"chunked, sgd": func(s *Settings) { s.Attention, s.Optimizer = nn.ChunkedAttention, optim.Defaults(optim.SGD) },
	}
	g := tiny()
	g.Dim, g.Dropout, g.Context = 64, 0.1, 32
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := DefaultSettings()
			change(&s)
			b := newBench(t, 64<<20, g)
			trainer := b.trainer(t, s, nil)
			measured := steps(t, trainer, estimatedSteps)[estimatedSteps-1]
			plan := Plan{Build: gpt(g), Spec: b.set.Spec(), Batch: 8, Settings: s}
			estimate, err := plan.Estimate(t.Context())
			fatal.If(t, err)
			equal.Values(t, "memory", estimate.Memory, measured.Memory)
		})
	}
}

func TestOutOfMemoryLeavesTheTrainerWhole(t *testing.T) {
	g := tiny()
	g.Context, g.Dim, g.Dropout = 64, 64, 0.1
	b := newBench(t, 8<<20, g)
	s := DefaultSettings()
	saved := 0
	trainer := b.trainer(t, s, func(c *Config) {
		c.SaveOOM = func(e *alloc.OOMError) (string, error) {
			saved++
			if e.Memory.Category[trace.Activation] == 0 {
				t.Error("the snapshot is taken when activations are gone already")
			}
			return "oom.pickle", nil
		}
	})
	_, err := trainer.Step(t.Context())
	var oom *OutOfMemoryError
	if !errors.As(err, &oom) {
		t.Fatalf("got error %v, want an OutOfMemoryError", err)
	}
	if saved != 1 || oom.Snapshot != "oom.pickle" || !strings.Contains(err.Error(), "step 1: cpu:0: out of memory") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("saved %d times, error %q", saved, err)
	}
	if live := ReadMemory(b.device.Memory()).Now.Category; live != trainer.Live() {
		t.Errorf("%v bytes are live, want %v", live, trainer.Live())
	}
	if position := trainer.position(); position != 0 {
		t.Errorf("the run goes on with batch %d, want the first one again", position)
	}
	s.MicroBatch, s.Checkpoint = 1, nn.PerBlock()
	fatal.If(t, trainer.Set(s))
	got := steps(t, trainer, 2)
	want := steps(t, newBench(t, 64<<20, g).trainer(t, s, nil), 2)
	for i := range want {
		if got[i].Loss != want[i].Loss {
			t.Errorf("step %d after the failure: loss %v, and without one %v", i+1, got[i].Loss, want[i].Loss)
		}
	}
}

// TestMemoryEffects trains the GPT that the promises are about, for some
// minutes: see MEMTOP_LONG. Steps of different settings take turns, so that
// whatever else the machine does falls on all of them.
func TestMemoryEffects(t *testing.T) {
	if os.Getenv("MEMTOP_LONG") == "" {
		t.Skip("trains a GPT of 12 layers for minutes; set MEMTOP_LONG=1")
	}
	g := nn.GPTConfig{Layers: 12, Dim: 256, Heads: 8, Context: 256, Vocab: 256, Bias: true}
	whole := newBench(t, 3<<30, g).trainer(t, DefaultSettings(), nil)
	halved := newBenchOf(t, 3<<30, device.BFloat16, g, Offload{}).trainer(t, DefaultSettings(), nil)
	runs := []*struct {
		name        string
		trainer     *Trainer
		change      func(*Settings)
		activations int64
		quickest    time.Duration
	}{
		{"float32", whole, func(*Settings) {}, 0, math.MaxInt64},
		{"checkpointed per block", whole, func(s *Settings) { s.Checkpoint = nn.PerBlock() }, 0, math.MaxInt64},
		{"bf16 autocast", whole, func(s *Settings) { s.AMP = amp.BF16 }, 0, math.MaxInt64},
		{"the whole model in bf16", halved, func(*Settings) {}, 0, math.MaxInt64},
	}
	for range 4 {
		for _, r := range runs {
			s := DefaultSettings()
			r.change(&s)
			fatal.If(t, r.trainer.Set(s))
			e := steps(t, r.trainer, 1)[0]
			r.activations, r.quickest = e.Memory.Highest[trace.Activation], min(r.quickest, e.Duration)
		}
	}
	for _, r := range runs {
		t.Logf("%-24s %6.1f MiB of activations (%.3f of float32), %v a step (%+.1f %%)", r.name, float64(r.activations)/(1<<20),
			float64(r.activations)/float64(runs[0].activations), r.quickest, 100*(r.quickest.Seconds()/runs[0].quickest.Seconds()-1))
	}
	part := func(i int) float64 { return float64(runs[i].activations) / float64(runs[0].activations) }
	if saved := 1 - part(1); saved < 0.6 {
		t.Errorf("checkpointing saves %.1f %% of activations, want 60 %%", 100*saved)
	}
	if slower := runs[1].quickest.Seconds()/runs[0].quickest.Seconds() - 1; slower > 0.4 {
		t.Errorf("checkpointing makes a step %.1f %% slower, want at most 40 %%", 100*slower)
	}
	// Autocast leaves the residual stream in float32, as PyTorch's does, and the
	// normalisations save it.
	if part(2) > 0.6 || part(3) > 0.51 {
		t.Errorf("bf16 needs %.3f of float32's activations in autocast and %.3f throughout, want about a half", part(2), part(3))
	}
}
