package traits

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// Set is what a frame says about the work of the frames that it calls. A frame may
// have several traits.
type Set uint64

// The traits that decide what memory is for, in the order in which they are tried on one frame.
const (
	Workspace       Set = 1 << iota // a library's scratch
	Zeroes                          // gradients are dropped
	Accumulates                     // a gradient is taken up
	GradientBuffers                 // flat gradients are made
	Flats                           // flat buffers of parameters and of gradients
	Buckets                         // of DistributedDataParallel
	Communicates                    // what collectives send and receive is made
	Collects                        // the same by a collective that returns a result, which a graph may keep
	Gathers                         // shards are put together
	Caches                          // keys and values are kept
	BeginsState                     // an optimizer's state is made
	Updates                         // the optimizer's step
	Backward
	Loads    // data
	Moves    // a module is moved
	Builds   // a module is built or loaded
	Compiled // generated code is called, forward's or backward's
	Calls    // a module is called
	// These decide only if none above does.
	Copies      // data goes to the device
	Computes    // an operation
	Foreach     // an operation on many tensors at once, as optimizers do
	Constructs  // __init__ of anything
	Closure     // an optimizer calls the program again
	Node        // a function of the program is applied, forward or backward
	Applies     // a module applies a function to its parameters, gradients or buffers
	NoGrad      // a function runs without a graph
	Grad        // a function runs with one again
	Native      // C++ or Go
	Checkpoints // forward is run again, for backward
	Modules     // a module is called, not a function that is named so
	PyTorch     // PyTorch's own Python
	Casts       // autocast casts a weight, and keeps it until its context ends
	// These tell savings what there is to change.
	Autocast    // mixed precision is on
	Softmax     // the probabilities of attention, or those of a loss
	Attention   // a layer that attends
	Product     // a product of many matrices at once
	Loss        // log-probabilities of all classes, and what is made of them
	EightBit    // optimizer state that is small already
	MultiTensor // a step of PyTorch's for all weights at once
	Fusible     // of an optimizer that can do it in one kernel
	Server      // a server that reserves memory for its cache

	Strong = Copies - 1 // all that decide
)

// Read judges the frames that are new in longer tables of the same trace, after those that are known.
func Read(known []Set, t *trace.Tables) []Set {
	for id := len(known); id < len(t.Frames); id++ {
		f, of := &t.Frames[id], Set(0)
		if id > 0 {
			of = Of(lines.Slashed(t.String(f.File)), t.String(f.Name))
		}
		known = append(known, of)
	}
	return known
}

// Of judges a frame by its file, with slashes whatever it was written with, and its function.
// A role that a writer notes has no file.
func Of(file, name string) Set {
	base := file[strings.LastIndexByte(file, '/')+1:]
	t := ofWords(file, strings.ToLower(base), strings.ToLower(name))
	if lines.IsPython(file) {
		return t | ofPython(file, base, name)
	}
	return t | ofNative(name)
}

// ofWords judges by words that stand in the names of any language.
func ofWords(file, base, name string) Set {
	var t Set
	logarithm := lines.ContainsAny(name, "log_softmax", "logsoftmax")
	t.add(strings.Contains(name, "softmax") && !logarithm || base == "softmax.py", Softmax)
	t.add(lines.ContainsAny(name, "attention", "attn", "sdpa") || lines.ContainsAny(base, "attention", "attn"), Attention)
	t.add(logarithm || lines.ContainsAny(name, "cross_entropy", "crossentropy", "nll_loss", "nllloss", "logsumexp", "log_loss"), Loss)
	t.add(strings.Contains(name, "autocast::") || strings.HasSuffix(file, "torch/amp/autocast_mode.py"), Autocast)
	t.add(lines.ContainsAny(file, "bitsandbytes", "8bit", "adafactor") || lines.ContainsAny(name, "8bit", "adafactor"), EightBit)
	t.add(lines.ContainsAny(file, "/vllm/", "/sglang/", "vllm_") || strings.HasPrefix(file, "vllm/"), Server)
	return t
}

func (t *Set) add(is bool, of Set) {
	if is {
		*t |= of
	}
}
