package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
)

func TestTheEstimateIsNotMovedByOutliers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var list []float64
	for i := range 200 {
		x := 0.5 + 0.3*random.NormFloat64()
		if i%20 == 0 {
			x += 50 // a compiler ran on the machine
		}
		list = append(list, x)
	}
	mean, low, high := estimate(list)
	if mean < 0.4 || mean > 0.65 || low > 0.5 || high < 0.5 || high-low > 0.3 {
		t.Errorf("got %.3f between %.3f and %.3f, want 0.5", mean, low, high)
	}
}

// TestAStepLaunchesLittle holds a step of GPT-2 124M, as `make count-launches` has it,
// to what docs/performance.md and docs/proof.md say of it. All its products must be of
// the tensor cores, which take no odd sizes: the vocabulary is padded.
func TestAStepLaunchesLittle(t *testing.T) {
	for _, test := range []struct{ residual, want string }{
		{"full", "275 launches, 16.49 GB"},
		{"bf16", "277 launches, 12.85 GB"},
	} {
		t.Run("residual="+test.residual, func(t *testing.T) {
			var out strings.Builder
			o := &options{layers: 12, batch: 16, tokens: 1024, amp: "bf16", checkpoint: "none", residual: test.residual}
			all, err := countLaunches(t.Context(), o, &out)
			fatal.If(t, err)
			if got := fmt.Sprintf("%d launches, %.2f GB", all.times, all.moved/1e9); got != test.want {
				t.Errorf("%s, want %s\n%s", got, test.want, &out)
			}
			if text := out.String(); !strings.Contains(text, "tensor_bfloat") || strings.Contains(text, "matmul") {
				t.Errorf("products are of other kernels:\n%s", text)
			}
		})
	}
}

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}
