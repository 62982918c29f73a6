package program

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/engine/amp"
)

// TestAGPUTrainsAsTheProcessorDoesForFiftySteps compares the losses of the
// kernels' host build with those of cpu:0, and the memory to the byte.
func TestAGPUTrainsAsTheProcessorDoesForFiftySteps(t *testing.T) {
	if os.Getenv("MEMTOP_LONG") == "" {
		t.Skip("it takes minutes; set MEMTOP_LONG=1")
	}
	const limit = 1e-3 // on the relative difference
	for _, mode := range amp.Modes() {
		for _, checkpoint := range []string{"none", "block"} {
			t.Run(mode.String()+", checkpoint="+checkpoint, func(t *testing.T) {
				g := gpus(t)
				args := slices.Concat(small, []string{"--layers", "2", "--steps", "50", "--amp", mode.String(), "--checkpoint", checkpoint})
				cpu := trained(t, g, append(args, "--device", "cpu:0")...)
				gpu := trained(t, g, append(args, "--device", "cuda:0")...)
				worst := 0.0
				for i := range cpu {
					worst = max(worst, math.Abs(cpu[i].Loss-gpu[i].Loss)/math.Abs(cpu[i].Loss))
					cpu[i].Loss, gpu[i].Loss = 0, 0
				}
				t.Logf("the losses of %d steps differ by at most %.1e", len(cpu), worst)
				if !(worst <= limit) {
					t.Errorf("the losses differ by %.1e, more than %.0e", worst, limit)
				}
				if diff := cmp.Diff(cpu, gpu); diff != "" {
					t.Errorf("memory differs (-cpu:0 +cuda:0):\n%s", diff)
				}
			})
		}
	}
}
