package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
)

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
