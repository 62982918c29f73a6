package train

import (
	"math"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/snapshots/trace"
)

// oddVocab is a GPT whose vocabulary is no round number.
func oddVocab() nn.GPTConfig {
	g := tiny()
	g.Vocab = 257
	return g
}

// TestAPaddedVocabularyTrainsAsTheExactOne pads from the start, in parts, and between
// steps.
func TestAPaddedVocabularyTrainsAsTheExactOne(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	tests := map[string]struct {
		settings func(s *Settings)
		padAt    int
	}{
		"bfloat16":              {func(s *Settings) { s.AMP = amp.BF16 }, 0},
		"float16":               {func(s *Settings) { s.AMP = amp.FP16 }, 0},
		"float32":               {func(*Settings) {}, 0},
		"parts of a batch":      {func(s *Settings) { s.AMP, s.MicroBatch = amp.BF16, 3 }, 0},
		"checkpoints":           {func(s *Settings) { s.AMP, s.Checkpoint = amp.BF16, nn.Selective() }, 0},
		"activations elsewhere": {func(s *Settings) { s.AMP, s.Offload = amp.BF16, offloaded(t, "activations") }, 0},
		"all of it elsewhere":   {func(s *Settings) { s.AMP, s.Offload = amp.BF16, offloaded(t, "optimizer,gradients,parameters") }, 0},
		"PyTorch's loss":        {func(s *Settings) { s.AMP, s.LossMemory = amp.BF16, nn.PyTorchLoss }, 0},
		"from step 4 on":        {func(s *Settings) { s.AMP = amp.BF16 }, 4},
	}
	n := compared()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			run := func(padAt int) []float64 {
				s := DefaultSettings()
				test.settings(&s)
				trainer := newBenchOf(t, 64<<20, device.Float32, oddVocab(), s.Offload).trainer(t, s, nil)
				list := losses(steps(t, trainer, padAt))
				if padAt < n {
					set(t, trainer, "pad_vocab=on")
				}
				return append(list, losses(steps(t, trainer, n-padAt))...)
			}
			want, got := run(n), run(test.padAt)
			for i := range want {
				if math.Abs(want[i]-got[i]) > 1e-3 {
					t.Fatalf("step %d: loss %v with padding, %v without", i+1, got[i], want[i])
				}
			}
		})
	}
}

func offloaded(t *testing.T, parts string) Offload {
	t.Helper()
	o, err := ParseOffload(parts)
	fatal.If(t, err)
	return o
}

// TestPaddingIsInTheCopyOfTheHeadAlone looks at what there is between steps.
func TestPaddingIsInTheCopyOfTheHeadAlone(t *testing.T) {
	run := func(pad bool) (copies int64) {
		s := DefaultSettings()
		s.AMP, s.PadVocab = amp.BF16, pad
		b := newBench(t, 64<<20, oddVocab())
		trainer := b.trainer(t, s, nil)
		steps(t, trainer, 2)
		live, head := trainer.Live(), b.model.(*nn.GPT).Head.Weight
		if got := b.device.Memory().Stats().Category[trace.Workspace].Current; got != live[trace.Workspace] {
			t.Errorf("padded %v: %d bytes of copies, want %d", pad, got, live[trace.Workspace])
		}
		if !head.Data().Shape().Equal([]int{257, 16}) || head.Data().Storage().Bytes() != 257*16*4 {
			t.Errorf("padded %v: the head's weight is %v", pad, head.Data())
		}
		return live[trace.Workspace]
	}
	exact, padded := run(false), run(true)
	if want := exact + (320-257)*16*2; padded != want {
		t.Errorf("%d bytes of copies with padding, want %d", padded, want)
	}
}
