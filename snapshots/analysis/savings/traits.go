package savings

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// trait is a property that the name of a frame or a role shows.
type trait uint16

const (
	softmax   trait = 1 << iota // the probabilities of attention, or those of a loss
	attention                   // a layer that attends
	loss                        // log-probabilities of all classes, and what is made of them
	inPlace                     // a function that may overwrite its input
	checkpoint
	autocast
	backward
	eightBit   // optimizer state that is small already
	flat       // a buffer for many gradients
	server     // a server that reserves memory for its cache
	sequential // the loop of a Sequential over its modules
	linear     // a function that keeps what it is given for backward, not its result
	stepping   // an optimizer's step, and what begins its state
)

// Words knows the meaning of the names of a trace's frames and roles. It is owned
// by one goroutine while it reads; in between, any number of scenes may ask it.
type Words struct {
	frames, stacks, notes []trait // by frame, stack and note
	all                   trait   // of all frames
}

// Read judges the frames, stacks and notes that are new in longer tables of the same trace.
func (w *Words) Read(t *trace.Tables) {
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
	switch lower {
	case "relu", "relu6", "leaky_relu", "dropout", "hardtanh", "elu":
		t |= inPlace
	case "linear", "_conv_forward", "batch_norm":
		t |= linear
	}
	if lower == "step" || lines.ContainsAny(lower, "_init_group", "init_state", "init_optimizer_state") {
		t |= stepping
	}
	if strings.HasSuffix(file, "torch/nn/modules/container.py") && name == "forward" {
		t |= sequential
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
