package program

import (
	"cmp"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

// tinyModels are those that an interpreter of PTX trains within a second a step.
var tinyModels = map[string][]string{
	"gpt":          {"--layers", "1", "--dim", "32", "--heads", "2", "--seq", "8", "--batch", "1"},
	"llama":        {"--model", "llama", "--layers", "1", "--dim", "32", "--heads", "2", "--seq", "8", "--batch", "1"},
	"convolutions": {"--model", "conv", "--layers", "2", "--dim", "4", "--batch", "1"},
}

// limitOf is how far a loss on a GPU may be from that of a processor, relatively.
func limitOf(mode string) float64 {
	return map[string]float64{"off": 1e-3, "bf16": 2e-2, "fp16": 2e-2}[mode]
}

// TestTheShippedPTXTrainsAsTheProcessorDoes takes single steps, which take all kernels of
// a step through the driver's loading and streams.
func TestTheShippedPTXTrainsAsTheProcessorDoes(t *testing.T) {
	fatal.IfShort(t)
	tests := map[string]struct {
		model, mode string
		args        []string
	}{
		"fp32":                      {model: "gpt"},
		"bf16":                      {model: "gpt", mode: "bf16"},
		"fp16, checkpointed":        {model: "gpt", mode: "fp16", args: []string{"--checkpoint", "block"}},
		"llama, all on the host":    {model: "llama", mode: "bf16", args: []string{"--offload", everything}},
		"convolutions":              {model: "convolutions"},
		"convolutions, 8-bit, bf16": {model: "convolutions", mode: "bf16", args: []string{"--optimizer", "adamw8bit"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mode := cmp.Or(test.mode, "off")
			args := slices.Concat(tinyModels[test.model], []string{"--steps", "2", "--amp", mode}, test.args)
			trainsAlike(t, interpreted(t), limitOf(mode), args)
		})
	}
}

// interpreted returns GPUs that execute the PTX.
func interpreted(t *testing.T) GPUs {
	t.Helper()
	return gpusOf(t, cudatest.Options{Execute: func(err error) { t.Error(err) }})
}

// onlyByPTX skips a test that takes long where all is executed by the interpreter.
func onlyByPTX(t *testing.T) {
	t.Helper()
	if os.Getenv("MEMTOP_GPU") != "ptx" {
		t.Skip("it takes long: MEMTOP_GPU=ptx lets it")
	}
}

// TestTheShippedPTXTrainsInEveryWay tries every model in every precision with all that
// changes how a step is computed.
func TestTheShippedPTXTrainsInEveryWay(t *testing.T) {
	onlyByPTX(t)
	ways := map[string][]string{
		"plain":                     nil,
		"checkpointed":              {"--checkpoint", "block"},
		"all on the host":           {"--offload", everything},
		"both":                      {"--steps", "4", "--checkpoint", "block", "--offload", everything},
		"in two parts, with 8 bits": {"--batch", "2", "--accumulate", "2", "--optimizer", "adamw8bit"},
	}
	for model, of := range tinyModels {
		for _, mode := range []string{"off", "bf16", "fp16"} {
			for way, args := range ways {
				t.Run(model+", amp "+mode+", "+way, func(t *testing.T) {
					trainsAlike(t, interpreted(t), limitOf(mode), slices.Concat(of, []string{"--steps", "2", "--amp", mode}, args))
				})
			}
		}
	}
}

// TestRanksOnTheShippedPTXTrainAsProcessorsDo has two processes with a GPU each, which
// meet by the tests' NCCL, train as two processors do that meet by MPI.
func TestRanksOnTheShippedPTXTrainAsProcessorsDo(t *testing.T) {
	onlyByPTX(t)
	for model, of := range tinyModels {
		for _, mode := range []string{"off", "bf16", "fp16"} {
			for _, shard := range []string{"none", "gradients"} {
				t.Run(model+", amp "+mode+", shards of "+shard, func(t *testing.T) {
					args := slices.Concat(of, []string{"--steps", "4", "--batch", "4", "--amp", mode, "--shard", shard})
					cpu := steppedBy(t, 2, append(args, "--device", "cpu:0")...)
					gpu := steppedOnGPUs(t, 2, args...)
					if len(cpu) != 4 || len(gpu) != 4 {
						t.Fatalf("%d steps on processors and %d on GPUs, want 4", len(cpu), len(gpu))
					}
					for i := range cpu {
						if d := math.Abs(cpu[i].Loss-gpu[i].Loss) / math.Abs(cpu[i].Loss); !(d <= limitOf(mode)) || gpu[i].World != 2 {
							t.Errorf("step %d: the loss is %v on two processors and %v on %d GPUs", i+1, cpu[i].Loss, gpu[i].Loss, gpu[i].World)
						}
					}
				})
			}
		}
	}
}
