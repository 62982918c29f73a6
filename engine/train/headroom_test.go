package train

import (
	"math"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheHeadroomIsWhatFits runs as many samples as are said to fit into a memory,
// and one more.
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
