package program

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// estimated runs memtop estimate with the given flags.
func estimated(t *testing.T, args []string) *EstimateReport {
	t.Helper()
	var e Estimate
	f := pflag.NewFlagSet("estimate", pflag.ContinueOnError)
	e.Register(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ran runs memtrain with the given flags and returns its last step.
func ran(t *testing.T, args []string) object {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Run(append(args, "--steps", "2", "--json", "--probe", "off"), &stdout, &stderr, nil); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var o object
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEstimateIsWhatARunTakes(t *testing.T) {
	small := []string{"--layers", "2", "--dim", "64", "--seq", "32", "--batch", "4"}
	tests := map[string][]string{
		"a gpt":                       small,
		"in bf16, checkpointed":       append(slices.Clip(small), "--amp", "bf16", "--checkpoint", "block"),
		"the whole model in bfloat16": append(slices.Clip(small), "--half", "--optimizer", "sgd"),
		"a part at a time":            append(slices.Clip(small), "--micro-batch", "1", "--attention", "naive"),
		"a published one, smaller":    append(slices.Clip(small), "--model", "gpt2", "--vocab", "300", "--heads", "4"),
		"an mlp":                      {"--model", "mlp"},
		"a llama":                     append(slices.Clip(small), "--model", "llama", "--amp", "bf16"),
		"a llama, half, recomputed":   append(slices.Clip(small), "--model", "llama", "--half", "--checkpoint", "selective"),
		"a convolutional net":         {"--model", "conv", "--batch", "4"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			rank, run := estimated(t, args).Ranks[0], ran(t, args)
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
	tests := map[string]int64{
		"gpt2": 124439808, "gpt2-medium": 354823168, "gpt2-large": 774030080, "gpt2-xl": 1557611200,
		"llama-7b": 6738415616, "llama-13b": 13015864320, "llama-65b": 65285660672, "llama-70b": 68976648192,
		"llama3-8b": 8030261248, "llama3-70b": 70553706496,
	}
	for model, want := range tests {
		if got := estimated(t, []string{"--model", model}).Parameters; got != want {
			t.Errorf("%s has %d parameters, want %d", model, got, want)
		}
	}
}

func TestTechniquesAreToldInTheOrderToTryThem(t *testing.T) {
	r := estimated(t, []string{"--model", "gpt2-xl", "--batch", "8"})
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
		"amp=bf16", "half=true", "checkpoint=block", "micro_batch=1", "optimizer=adamw8bit",
		"checkpoint=block micro_batch=1", "checkpoint=block micro_batch=1 optimizer=adamw8bit",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if last := r.Techniques[len(r.Techniques)-1]; last.PeakReserved != lowest || !last.Fits["24GiB"] || r.Fits["48GiB"] || !r.Fits["80GiB"] {
		t.Errorf("as asked it fits %v; with all of it %v, in %d bytes of which %d are possible", r.Fits, last.Fits, last.PeakReserved, lowest)
	}
}

func TestFittingIsWhatTheAllocatorCanServe(t *testing.T) {
	var e Estimate
	f := pflag.NewFlagSet("estimate", pflag.ContinueOnError)
	e.Register(f)
	if err := f.Parse([]string{"--model", "gpt2", "--batch", "4", "--amp", "bf16", "--checkpoint", "block"}); err != nil {
		t.Fatal(err)
	}
	v, err := e.asked()
	if err != nil {
		t.Fatal(err)
	}
	found, err := v.estimate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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

// BenchmarkEstimateOf70B is an estimate with all of its variants.
func BenchmarkEstimateOf70B(b *testing.B) {
	var e Estimate
	f := pflag.NewFlagSet("estimate", pflag.ContinueOnError)
	e.Register(f)
	args := []string{"--model", "llama-70b", "--amp", "bf16"}
	if err := f.Parse(args); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := e.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
