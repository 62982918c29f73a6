package kernels_test

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// written is an instruction of a module's text, which several kernels may execute.
type written struct {
	module   kernels.Module
	function string
	line     int
}

// least is the share of the PTX that the tests reach. What they do not is mostly the code
// of functions for any type, in kernels that are tested with some types.
const least = 0.88

// TestThePTXIsReached prints how many instructions the tests before it have executed, and
// the functions of which they have missed most.
func TestThePTXIsReached(t *testing.T) {
	if os.Getenv("MEMTOP_GPU") != "ptx" {
		t.Skip("MEMTOP_GPU=ptx runs all tests on the PTX")
	}
	reached := make(map[written]bool)
	for k, p := range programs {
		if p == nil {
			t.Errorf("no test launches %v", kernels.Kernel(k))
			continue
		}
		missed, all := p.Missed()
		t.Logf("%v: %d of %d", kernels.Kernel(k), all-len(missed), all)
		for i := range p.Len() {
			if l, times, ok := p.At(i); ok {
				at := written{kernels.ModuleOf(kernels.Kernel(k)), l.Function, l.Number}
				reached[at] = reached[at] || times > 0
			}
		}
	}
	missed := make(map[written]int) // by function
	executed := 0
	for at, is := range reached {
		if is {
			executed++
			continue
		}
		at.line = 0
		missed[at]++
	}
	for _, f := range slices.SortedFunc(maps.Keys(missed), func(a, b written) int { return cmp.Compare(missed[b], missed[a]) }) {
		t.Logf("%v, %s: %d missed", f.module, f.function, missed[f])
	}
	share := float64(executed) / float64(len(reached))
	t.Logf("%d of %d instructions of the text, %.2f %%", executed, len(reached), 100*share)
	if share < least {
		t.Errorf("%.2f %% of the text is reached, want %.0f %%", 100*share, 100*least)
	}
}
