package program

import (
	"math"
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/trace"
)

// The parts of memory that publications tell of.
var (
	parameters  = highest(trace.Parameter)
	gradients   = highest(trace.Gradient)
	optimizer   = highest(trace.Optimizer)
	activations = highest(trace.Activation)
	states      = highest(trace.Parameter, trace.Gradient, trace.Optimizer)
)

func highest(categories ...trace.Category) func(m *train.Memory) int64 {
	return func(m *train.Memory) (sum int64) {
		for _, c := range categories {
			sum += m.Highest[c]
		}
		return sum
	}
}

func allocatedPeak(m *train.Memory) int64 { return m.PeakAllocated }
func reservedPeak(m *train.Memory) int64  { return m.PeakReserved }

// The units of publications.
const (
	gb      = 1e9
	gibUnit = 1 << 30
	mibUnit = 1 << 20
)

// TestPublishedConfigurations holds estimates to figures of others. docs/estimate.md
// has the table, with those that differ and why.
func TestPublishedConfigurations(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	const (
		lomo  = "--model llama-7b --seq 512 --batch 8 --half --checkpoint block"
		zero  = "--model gpt --layers 36 --dim 4096 --heads 32 --seq 1024 --vocab 50257 --batch 1 --half --optimizer adam --ranks 64 --shard "
		titan = "--model llama3-8b --seq 8192 --batch 2 --amp bf16 --checkpoint selective --shard parameters --ranks "
		// Seven billion are 6.74, and the gradients come when the activations go.
		galore = "--model llama-7b --seq 256 --half --main-copies off"
		llmc   = "--model gpt2 --batch 64 --half --vocab 50304 --checkpoint selective=linear+attention+layer_norm+add"
	)
	tests := []struct {
		source, args string
		of           func(*train.Memory) int64
		want, unit   float64
	}{
		{"Lv et al. 2023, table 1: parameters", lomo, parameters, 12.55, gibUnit},
		{"Lv et al. 2023, table 1: gradients", lomo, gradients, 12.55, gibUnit},
		{"Lv et al. 2023, table 1: optimizer state", lomo, optimizer, 75.31, gibUnit},
		{"Lv et al. 2023, table 1: total", lomo, allocatedPeak, 102.20, gibUnit},
		{"Rajbhandari et al. 2020, figure 1: baseline", zero + "none", states, 120, gb},
		{"Rajbhandari et al. 2020, figure 1: stage 1", zero + "optimizer", states, 31.4, gb},
		{"Rajbhandari et al. 2020, figure 1: stage 2", zero + "gradients", states, 16.6, gb},
		{"Rajbhandari et al. 2020, section 3.2: checkpointed", "--model gpt2-xl --batch 32 --half --checkpoint block", activations, 8, gb},
		{"torchtitan, December 2024, table 1", titan + "8", reservedPeak, 82.4, gibUnit},
		{"torchtitan, December 2024, table 3", titan + "128", reservedPeak, 67.0, gibUnit},
		{"Zhao et al. 2024, section 1: parameters", galore, parameters, 14, gb},
		{"Zhao et al. 2024, section 1: state and gradients", galore, highest(trace.Gradient, trace.Optimizer), 42, gb},
		{"Zhao et al. 2024, section 1: at least", galore, allocatedPeak, 58, gb},
		{"llm.c, discussion 481: parameters", llmc, parameters, 237, mibUnit},
		{"llm.c, discussion 481: gradients", llmc, gradients, 237, mibUnit},
		{"llm.c, discussion 481: m, v and master copy", llmc, optimizer, 3 * 474, mibUnit},
		{"llm.c, discussion 481: activations", llmc, activations, 21216, mibUnit},
	}
	for _, test := range tests {
		_, e := rehearsed(t, strings.Fields(test.args))
		got := float64(test.of(&e.Memory)) / test.unit
		t.Logf("%-52s %9.2f, here %9.2f (%+.1f %%)", test.source, test.want, got, 100*(got/test.want-1))
		if math.Abs(got/test.want-1) > 0.10 {
			t.Errorf("%s: published %v, estimated %.2f", test.source, test.want, got)
		}
	}
}
