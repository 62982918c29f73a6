package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/snapshots/trace"
)

// hostKernels is the host build of the kernels, which all tests share.
var hostKernels = sync.OnceValues(func() (*hostbuild.Library, error) { return hostbuild.Build(context.Background()) })

// built returns the host build. Without a C++ compiler the test is skipped.
func built(t *testing.T) *hostbuild.Library {
	t.Helper()
	library, err := hostKernels()
	if errors.Is(err, hostbuild.ErrNoCompiler) {
		t.Skip(err)
	}
	fatal.If(t, err)
	return library
}

// gpus returns GPUs of a driver in this process, whose kernels are the host
// build of the real ones, or with MEMTOP_GPU=ptx the PTX that is shipped. Without a C++
// compiler the test is skipped.
func gpus(t *testing.T) GPUs {
	t.Helper()
	return gpusOf(t, cudatest.Options{})
}

// gpusOf is gpus with a say in what they are.
func gpusOf(t *testing.T, o cudatest.Options) GPUs {
	t.Helper()
	o.Capacity = 2 << 30
	switch {
	case o.Execute != nil:
	case os.Getenv("MEMTOP_GPU") == "ptx":
		o.Execute = func(err error) { t.Error(err) }
	default:
		o.Run = cudatest.Kernels(built(t))
	}
	return func(ordinal int) (Machine, error) {
		d, err := cuda.Open(cuda.Options{Ordinal: ordinal, Driver: cudatest.New(o)})
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// small is a model that a GPU of the tests trains in a few seconds.
var small = []string{"--layers", "1", "--dim", "32", "--heads", "2", "--seq", "8", "--batch", "2"}

// stepLine holds the parts of a step that tests compare.
type stepLine struct {
	Step                       int64
	Loss                       float64
	Skipped                    bool
	Allocated                  int64            `json:"allocated_bytes"`
	Reserved                   int64            `json:"reserved_bytes"`
	PeakAllocated              int64            `json:"peak_allocated_bytes"`
	Categories, CategoriesPeak map[string]int64 `json:",omitempty"`
}

// trained runs memtrain and returns its steps.
func trained(t *testing.T, g GPUs, args ...string) []stepLine {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Run(append([]string{"--probe", "off", "--json"}, args...), &stdout, &stderr, Reach{GPUs: g}); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var steps []stepLine
	for line := range strings.Lines(stdout.String()) {
		var s stepLine
		fatal.If(t, json.Unmarshal([]byte(line), &s))
		steps = append(steps, s)
	}
	return steps
}

// TestAGPUTrainsAsTheProcessorDoes takes a few steps in each way;
// TestAGPUTrainsAsTheProcessorDoesForFiftySteps takes many.
func TestAGPUTrainsAsTheProcessorDoes(t *testing.T) {
	fatal.IfShort(t)
	conv := []string{"--model", "conv", "--layers", "2", "--dim", "4", "--batch", "2"}
	tests := map[string]struct {
		model []string
		args  string
		limit float64 // on the relative difference of losses
	}{
		"fp32":                                               {small, "", 1e-3},
		"bf16, every block checkpointed":                     {small, "--amp bf16 --checkpoint block", 2e-2},
		"bf16 with its residual":                             {small, "--amp bf16 --residual bf16", 2e-2},
		"bf16, a padded vocabulary":                          {small, "--amp bf16 --vocab 257 --pad-vocab on", 2e-2},
		"fp16, naive attention":                              {small, "--amp fp16 --attention naive", 2e-2},
		"8-bit optimizer, in two parts":                      {small, "--optimizer adamw8bit --accumulate 2", 1e-3},
		"all on the host, in two parts":                      {small, "--offload " + everything + " --accumulate 2", 1e-3},
		"fp16, checkpointed, all on the host":                {small, "--offload " + everything + " --amp fp16 --checkpoint block", 2e-2},
		"embedding, head and loss on the host, in two parts": {small, "--host wte+wpe+lm_head+loss --accumulate 2", 1e-3},
		"a block and all state on the host":                  {small, "--amp fp16 --host h.0 --offload optimizer", 2e-2},
		"with PyTorch's loss":                                {small, "--loss-memory pytorch --amp bf16", 2e-2},
		"a model of convolutions":                            {conv, "", 1e-3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			trainsAlike(t, gpus(t), test.limit, slices.Concat(test.model, []string{"--steps", "2"}, strings.Fields(test.args)))
		})
	}
}

// trainsAlike trains on cpu:0 and on cuda:0, and compares losses and memory.
func trainsAlike(t *testing.T, g GPUs, limit float64, args []string) {
	t.Helper()
	cpu := trained(t, g, append(args, "--device", "cpu:0")...)
	gpu := trained(t, g, append(args, "--device", "cuda:0")...)
	if len(cpu) != len(gpu) {
		t.Fatalf("%d steps and %d", len(cpu), len(gpu))
	}
	for i := range cpu {
		if d := math.Abs(cpu[i].Loss-gpu[i].Loss) / math.Abs(cpu[i].Loss); !(d <= limit) {
			t.Fatalf("step %d: the loss is %v on cpu:0 and %v on cuda:0", i+1, cpu[i].Loss, gpu[i].Loss)
		}
		cpu[i].Loss, gpu[i].Loss = 0, 0
	}
	equal.Values(t, "memory differs", cpu, gpu)
}

// TestAGPUPadsAnOddVocabulary checks that a GPU pads unless a flag forbids it,
// and that a processor pads only if a flag requests it.
func TestAGPUPadsAnOddVocabulary(t *testing.T) {
	g := gpus(t)
	workspace := func(args ...string) int64 {
		steps := trained(t, g, append(slices.Concat(small, []string{"--steps", "2", "--amp", "bf16", "--vocab", "257"}), args...)...)
		return steps[1].Categories["workspace"]
	}
	exact := workspace("--device", "cpu:0")
	padded := exact + (320-257)*32*2
	for args, want := range map[string]int64{
		"--device cuda:0": padded, "--device cuda:0 --pad-vocab off": exact, "--device cpu:0 --pad-vocab on": padded,
	} {
		if got := workspace(strings.Fields(args)...); got != want {
			t.Errorf("%s: %d bytes of workspace between steps, want %d", args, got, want)
		}
	}
}

const everything = "optimizer,gradients,parameters,activations"

func TestAGPUAsksItsAllocatorForTheSame(t *testing.T) {
	g := gpus(t)
	var of [2][]memoryEvent
	for i, name := range []string{"cpu:0", "cuda:0"} {
		path := filepath.Join(t.TempDir(), "memory.pickle")
		trained(t, g, append(small, "--steps", "3", "--device", name, "--snapshot", path)...)
		of[i] = memoryEvents(t, path)
	}
	equal.Values(t, "the allocators' events differ", of[0], of[1])
}

// TestARunFromTheHostAsksItsAllocatorForTheSameAgain checks that the parameters
// of a module come from the host, and their copies go, in one order.
func TestARunFromTheHostAsksItsAllocatorForTheSameAgain(t *testing.T) {
	var of [2][]memoryEvent
	for i := range of {
		path := filepath.Join(t.TempDir(), "memory.pickle")
		trained(t, nil, append(small, "--layers", "2", "--steps", "4", "--offload", everything, "--device", "cpu:0", "--snapshot", path)...)
		of[i] = memoryEvents(t, path)
	}
	equal.Values(t, "the events differ", of[0], of[1])
}

// memoryEvent is an event of an allocator with its address counted from the
// start of its segment, of which each device has others.
type memoryEvent struct {
	Kind   trace.Kind
	Offset uint64
	Size   int64
	Note   string
}

func memoryEvents(t *testing.T, path string) []memoryEvent {
	t.Helper()
	tr := onfile.Trace(t, path)
	d := &tr.Devices[0]
	var list []memoryEvent
	for i := range d.Events.Len() {
		e := d.Events.At(i)
		n := &tr.Tables.Notes[e.Note]
		m := memoryEvent{Kind: e.Kind, Size: e.Size, Note: tr.Tables.String(n.Category) + " " + tr.Tables.String(n.Layer) + " " + tr.Tables.String(n.Role)}
		for s := range d.Final.Segments {
			if at := &d.Final.Segments[s]; e.Addr >= at.Addr && e.Addr < at.End() {
				m.Offset = e.Addr - at.Addr
			}
		}
		list = append(list, m)
	}
	return list
}

// TestWhatMultipliesIsSaid is of a device without cuBLASLt.
func TestWhatMultipliesIsSaid(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := slices.Concat([]string{"--probe", "off", "--device", "cuda:0", "--steps", "1", "--amp", "bf16"}, small)
	if code := Run(args, &stdout, &stderr, Reach{GPUs: gpus(t)}); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if want := "\nproducts   own, by mma.sync\n"; !strings.Contains(stdout.String(), want) {
		t.Errorf("the header has no line %q:\n%s", want, stdout.String())
	}
}

// TestAGPUTrainsAsTheProcessorDoesForFiftySteps compares the losses of the
// kernels' host build with those of cpu:0, and the memory to the byte.
func TestAGPUTrainsAsTheProcessorDoesForFiftySteps(t *testing.T) {
	if os.Getenv("MEMTOP_LONG") == "" {
		t.Skip("it takes minutes; set MEMTOP_LONG=1")
	}
	for _, mode := range amp.Modes() {
		for _, checkpoint := range []string{"none", "block"} {
			t.Run(mode.String()+", checkpoint="+checkpoint, func(t *testing.T) {
				trainsAlike(t, gpus(t), 1e-3, slices.Concat(small, []string{"--layers", "2", "--steps", "50", "--amp", mode.String(), "--checkpoint", checkpoint}))
			})
		}
	}
}
