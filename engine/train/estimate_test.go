package train

import (
	"errors"
	"strings"
	"testing"

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
