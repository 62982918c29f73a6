package program

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/trace"
)

// parsed is memtop estimate with the given flags.
func parsed(t testing.TB, args []string) *Estimate {
	t.Helper()
	var e Estimate
	f := pflag.NewFlagSet("estimate", pflag.ContinueOnError)
	e.Register(f)
	fatal.If(t, f.Parse(args))
	return &e
}

// rehearsed is the run itself.
func rehearsed(t *testing.T, args []string) (variant, train.Estimate) {
	t.Helper()
	v, err := parsed(t, args).asked()
	fatal.If(t, err)
	e, err := v.estimate(t.Context())
	fatal.If(t, err)
	return v, e
}

// ran runs memtrain with the given flags and returns its last step.
func ran(t *testing.T, args []string) object {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Run(append(args, "--steps", "2", "--json", "--probe", "off"), &stdout, &stderr, Reach{}); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	list := decodeObjects(t, &stdout)
	return list[len(list)-1]
}

func TestEstimateIsWhatARunTakes(t *testing.T) {
	fatal.IfShort(t)
	small := []string{"--layers", "2", "--dim", "64", "--seq", "32", "--batch", "4"}
	tests := map[string][]string{
		"a gpt":                       small,
		"the whole model in bfloat16": append(slices.Clip(small), "--half", "--optimizer", "sgd"),
		"in bfloat16 throughout":      append(slices.Clip(small), "--half", "--main-copies", "off"),
		"a part at a time":            append(slices.Clip(small), "--dropout", "0.1", "--micro-batch", "1", "--attention", "naive"),
		"a published one, smaller":    append(slices.Clip(small), "--model", "gpt2", "--vocab", "300", "--heads", "4"),
		"an mlp":                      {"--model", "mlp"},
		"a llama":                     append(slices.Clip(small), "--model", "llama", "--amp", "bf16"),
		"a llama, half, recomputed":   append(slices.Clip(small), "--model", "llama", "--half", "--checkpoint", "selective"),
		"a convolutional net":         {"--model", "conv", "--batch", "4"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			_, e := rehearsed(t, args)
			rank, run := estimatedRank(1, &e.Memory), ran(t, args)
			if rank.PeakAllocated != run.PeakAllocated || rank.PeakReserved != run.PeakReservedBytes {
				t.Errorf("estimated %d bytes allocated and %d reserved, the run took %d and %d",
					rank.PeakAllocated, rank.PeakReserved, run.PeakAllocated, run.PeakReservedBytes)
			}
			sum := int64(0)
			for name, n := range rank.Sources {
				sum += n
				if want, known := run.CategoriesAtPeak[name]; known && n != want {
					t.Errorf("%s: estimated %d bytes, the run took %d", name, n, want)
				}
			}
			if sum != rank.PeakAllocated {
				t.Errorf("the sources add up to %d bytes, the peak is %d", sum, rank.PeakAllocated)
			}
		})
	}
}

func TestModelsHaveTheirPublishedSizes(t *testing.T) {
	fatal.IfShort(t)
	tests := map[string]int64{
		"gpt2": 124439808, "gpt2-medium": 354823168, "gpt2-large": 774030080, "gpt2-xl": 1557611200,
		"llama-7b": 6738415616, "llama-13b": 13015864320, "llama-65b": 65285660672, "llama-70b": 68976648192,
		"llama3-8b": 8030261248, "llama3-70b": 70553706496,
	}
	for model, want := range tests {
		if _, e := rehearsed(t, []string{"--model", model}); e.Parameters != want {
			t.Errorf("%s has %d parameters, want %d", model, e.Parameters, want)
		}
	}
}

func TestTechniquesAreToldInTheOrderToTryThem(t *testing.T) {
	fatal.IfShort(t)
	r, err := parsed(t, []string{"--model", "gpt2-xl", "--batch", "8"}).Run(t.Context())
	fatal.If(t, err)
	var got []string
	lowest := r.Ranks[0].PeakReserved
	for _, technique := range r.Techniques {
		got = append(got, strings.Join(technique.words, " "))
		if technique.PeakReserved >= r.Ranks[0].PeakReserved {
			t.Errorf("%v takes %d bytes, as asked it takes %d", technique.words, technique.PeakReserved, r.Ranks[0].PeakReserved)
		}
		lowest = min(lowest, technique.PeakReserved)
	}
	want := []string{
		"amp=bf16", "half=bf16", "checkpoint=block", "micro_batch=1", "optimizer=adamw8bit",
		"amp=bf16 checkpoint=block", "amp=bf16 checkpoint=block micro_batch=1", "amp=bf16 checkpoint=block micro_batch=1 optimizer=adamw8bit",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if last := r.Techniques[len(r.Techniques)-1]; last.PeakReserved != lowest || !last.Fits["24GiB"] || r.Fits["48GiB"] || !r.Fits["80GiB"] {
		t.Errorf("as asked it fits %v; with all of it %v, in %d bytes of which %d are possible", r.Fits, last.Fits, last.PeakReserved, lowest)
	}
}

func TestFittingIsWhatTheAllocatorCanServe(t *testing.T) {
	v, found := rehearsed(t, []string{"--model", "gpt2", "--batch", "4", "--checkpoint", "block"})
	m := &found.Memory
	tests := map[string]struct {
		capacity int64
		want     bool
	}{
		"all that was reserved":                           {m.PeakReserved, true},
		"less than what is allocated":                     {m.PeakAllocated - 1, false},
		"what it can do with, giving back what is cached": {m.PeakReserved - (m.PeakReserved-m.PeakAllocated)/10, true},
		"hardly more than what is allocated":              {m.PeakAllocated + (m.PeakReserved-m.PeakAllocated)/10, false},
	}
	for name, test := range tests {
		got, err := v.fitsIn(t.Context(), m, test.capacity)
		if err != nil || got != test.want {
			t.Errorf("%s: fits %v, error %v, want %v", name, got, err, test.want)
		}
	}
}

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
	fatal.IfShort(t)
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

func TestEverySettingHasAFlag(t *testing.T) {
	want := slices.Sorted(slices.Values(train.Keys()))
	equal.Values(t, "flags", want, slices.Sorted(slices.Values(settingFlags)))
}

func TestALossThatIsNoNumberIsNull(t *testing.T) {
	for _, loss := range []float64{math.NaN(), math.Inf(1)} {
		text, err := json.Marshal(objectOf(&train.Event{Loss: loss, Settings: train.DefaultSettings()}))
		if err != nil || !strings.Contains(string(text), `"loss":null`) {
			t.Errorf("%v gives %s, %v", loss, text, err)
		}
	}
}

func TestALineIsShortenedByParts(t *testing.T) {
	const line = "step 7  loss 2.5000  1.00 MiB peak"
	tests := map[int]string{80: line, 35: line, 34: "step 7  loss 2.5000", 20: "step 7  loss 2.5000", 8: "step 7", 4: "ste", 1: ""}
	for width, want := range tests {
		if got := shortened(line, width); got != want {
			t.Errorf("%d cells: got %q, want %q", width, got, want)
		}
	}
}
