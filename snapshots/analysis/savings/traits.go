package savings

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// trait is a property that the name of a frame or a role shows.
type trait uint32

const (
	softmax   trait = 1 << iota // the probabilities of attention, or those of a loss
	attention                   // a layer that attends
	loss                        // log-probabilities of all classes, and what is made of them
	checkpoint
	autocast
	backward
	eightBit // optimizer state that is small already
	flat     // a buffer for many gradients
	server   // a server that reserves memory for its cache
	stepping // an optimizer's step, and what begins its state
	foreach  // a step of PyTorch's for all weights at once
	fusible  // of an optimizer that can do it in one kernel
	reducer  // DistributedDataParallel's buckets
	product  // a product of many matrices at once
)

// Words knows the meaning of the names of a trace's frames and roles. It is owned
// by one goroutine while it reads; in between, any number of scenes may ask it.
type Words struct {
	frames, stacks, notes []trait            // by frame, stack and note
	within                []function         // by stack, the innermost function outside of PyTorch
	does                  map[function]trait // what the functions call of PyTorch's
	all                   trait              // of all frames
}

// function is one of the program's or of a library, by file and name.
type function [2]trace.StringID

// attends reports whether a stack is of a function that takes a softmax beside products of many matrices at once:
// attention by hand, whatever its name is.
func (w *Words) attends(stack trace.StackID) bool {
	return w.does[w.within[stack]]&(softmax|product) == softmax|product && w.stacks[stack]&loss == 0
}

// readFunction notes what the innermost function outside of PyTorch calls of it.
func (w *Words) readFunction(t *trace.Tables, stack trace.StackID) {
	var calls trait
	var in function
	for _, frame := range t.Stack(stack) {
		f := &t.Frames[frame]
		if file := lines.Slashed(t.String(f.File)); lines.IsPython(file) && !strings.Contains(file, "/torch/") {
			in = function{f.File, f.Name}
			w.does[in] |= calls
			break
		}
		calls |= w.frames[frame] & (softmax | product)
	}
	w.within = append(w.within, in)
}

// Read judges the frames, stacks and notes that are new in longer tables of the same trace.
func (w *Words) Read(t *trace.Tables) {
	if w.does == nil {
		w.does = make(map[function]trait)
	}
	for id := len(w.frames); id < len(t.Frames); id++ {
		f := &t.Frames[id]
		is := traitsOf(lines.Slashed(t.String(f.File)), t.String(f.Name))
		w.frames, w.all = append(w.frames, is), w.all|is
	}
	for id := len(w.stacks); id < t.StackCount(); id++ {
		var all trait
		for _, frame := range t.Stack(trace.StackID(id)) {
			all |= w.frames[frame]
		}
		w.stacks = append(w.stacks, all)
		w.readFunction(t, trace.StackID(id))
	}
	for id := len(w.notes); id < len(t.Notes); id++ {
		w.notes = append(w.notes, traitsOf("", t.String(t.Notes[id].Role)))
	}
}

// Serves reports whether a server of language models is on any stack.
func (w *Words) Serves() bool { return w.all&server != 0 }

// traitsOf judges a frame by its file, with slashes, and its function.
func traitsOf(file, name string) trait {
	var t trait
	base := strings.ToLower(file[strings.LastIndexByte(file, '/')+1:])
	lower := strings.ToLower(name)
	if lines.ContainsAny(lower, "softmax") && !lines.ContainsAny(lower, "log_softmax", "logsoftmax") || base == "softmax.py" {
		t |= softmax
	}
	if lines.ContainsAny(lower, "attention", "attn", "sdpa") || lines.ContainsAny(base, "attention", "attn") {
		t |= attention
	}
	if lines.ContainsAny(lower, "log_softmax", "logsoftmax", "cross_entropy", "crossentropy", "nll_loss", "nllloss", "logsumexp", "log_loss") {
		t |= loss
	}
	if lower == "step" || lines.ContainsAny(lower, "_init_group", "init_state", "init_optimizer_state") {
		t |= stepping
	}
	if strings.Contains(file, "/torch/optim/") && strings.HasPrefix(name, "_multi_tensor_") {
		t |= foreach
		switch name {
		case "_multi_tensor_adam", "_multi_tensor_adamw", "_multi_tensor_sgd", "_multi_tensor_adagrad":
			t |= fusible
		}
	}
	if strings.HasPrefix(name, "at::_ops::bmm::") || strings.HasPrefix(name, "at::_ops::baddbmm::") {
		t |= product
	}
	if strings.Contains(name, "c10d::Reducer") || name == "_ddp_init_helper" || name == "_pre_forward" && strings.HasSuffix(file, "torch/nn/parallel/distributed.py") {
		t |= reducer
	}
	if strings.HasSuffix(file, "torch/utils/checkpoint.py") || lines.ContainsAny(name, "CheckpointFunction", "recompute_fn") {
		t |= checkpoint
	}
	if lines.ContainsAny(name, "autocast::") || strings.HasSuffix(file, "torch/amp/autocast_mode.py") {
		t |= autocast
	}
	if lines.ContainsAny(name, "autograd::Engine", "_engine_run_backward", "Backward0", "run_backward") {
		t |= backward
	}
	if lines.ContainsAny(file, "bitsandbytes", "8bit", "adafactor") || lines.ContainsAny(lower, "8bit", "adafactor") {
		t |= eightBit
	}
	if lines.ContainsAny(file, "/vllm/", "/sglang/", "vllm_") || strings.HasPrefix(file, "vllm/") {
		t |= server
	}
	if lines.ContainsAny(lower, "grad_buffer", "flat_grad", "flatten_dense") || lines.ContainsAny(base, "grad_buffer", "bucket") {
		t |= flat
	}
	return t
}
