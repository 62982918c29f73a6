package category

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
)

// trait is what a frame says about the work of the frames that it calls. A frame
// may have several traits.
type trait uint32

// The traits, in the order in which they are tried on one frame.
const (
	workspaces  trait = 1 << iota // a library's scratch
	zeroes                        // gradients are dropped
	accumulates                   // a gradient is taken up
	gradBuffers                   // flat gradients are made
	flats                         // flat buffers of parameters and of gradients
	gathers                       // shards are put together
	caches                        // keys and values are kept
	begins                        // an optimizer's state is made
	updates                       // the optimizer's step
	backs                         // backward
	loads                         // data
	moves                         // a module is moved
	builds                        // a module is built or loaded
	compiles                      // generated code is called, forward's or backward's
	calls                         // a module is called
	// These traits decide only if none above does.
	copies     // data goes to the device
	computes   // an operation
	foreach    // an operation on many tensors at once, as optimizers do
	constructs // __init__ of anything
	closes     // an optimizer calls the program again
	nodes      // a function of the program is applied, forward or backward
	applies    // a module applies a function to its parameters, gradients or buffers
	noGrads    // a function runs without a graph
	grads      // a function runs with one again
	native     // C++
	recomputes // forward is run again, for backward
	modules    // a module is called, not a function that is named so
	library    // PyTorch's own
	casts      // autocast casts a weight, and keeps it until its context ends
	strong     = copies - 1
)

// traitsOf reads a frame. File has slashes, whatever it was written with.
func traitsOf(file, name string) trait {
	if !lines.IsPython(file) {
		return nativeTraits(name)
	}
	base := file[strings.LastIndexByte(file, '/')+1:]
	var t trait
	add := func(is bool, of trait) {
		if is {
			t |= of
		}
	}
	add(lines.ContainsAny(name, "allocate_workspace", "_workspace_buffer", "get_workspace"), workspaces)
	add(lines.ContainsAny(name, "zero_grad"), zeroes)
	add(lines.ContainsAny(name, "grad_buffer", "flat_grad", "_ipg_bucket", "reduce_bucket_buffer", "contiguous_grad", "_ddp_init_helper"), gradBuffers)
	add(strings.Contains(base, "grad") && strings.Contains(base, "buffer"), flats)
	add(isGather(file, name), gathers)
	add(isCache(base, name), caches)
	beginning := name == "__init__" || name == "init_group" || strings.Contains(name, "init") && strings.Contains(name, "state") || strings.Contains(name, "state_buffer")
	add(isOptimizerFile(file, base) && beginning || lines.ContainsAny(name, "_init_group", "init_optimizer_state"), begins)
	add(isOptimizerFile(file, base) || name == "wrapper" && strings.HasSuffix(file, "torch/optim/optimizer.py"), updates) // PyTorch puts it around every step
	add(name == "closure", closes)
	add(strings.HasSuffix(file, "/torch/autograd/function.py") && strings.HasPrefix(name, "apply"), nodes)
	add(isBackward(file, name), backs)
	add(isLoading(file, name), loads)
	add(strings.HasSuffix(file, "/nn/modules/module.py") && !isCall(file, name), moves)
	add(isBuilding(file, base, name), builds)
	add(name == "call" && strings.Contains(file, "torchinductor") || strings.HasPrefix(file, "<eval_with_key>"), compiles)
	add(isCall(file, name), calls)
	add(strings.HasSuffix(file, "/torch/nn/functional.py") || strings.HasSuffix(file, "/torch/functional.py"), computes)
	add(name == "__init__", constructs)
	add(name == "_apply" && t&moves != 0, applies)
	if strings.HasSuffix(file, "/torch/utils/_contextlib.py") { // its functions have the decorator's name since PyTorch 2.15
		add(name == "enable_grad", grads)
		add(name != "enable_grad", noGrads)
	}
	add(strings.HasSuffix(file, "/torch/utils/checkpoint.py"), recomputes)
	add(t&calls != 0 && name != "forward", modules)
	add(strings.Contains(file, "/torch/"), library)
	return t
}

func isOptimizerFile(file, base string) bool {
	switch base {
	case "lr_scheduler.py", "swa_utils.py":
		return false
	case "optimizer.py":
		return !strings.HasSuffix(file, "torch/optim/optimizer.py")
	}
	if lines.ContainsAny(base, "optim") || lines.ContainsAny(file, "/torch/optim/", "/bitsandbytes/optim/", "/apex/optimizers/", "/ops/adam/") {
		return true
	}
	for _, word := range strings.FieldsFunc(strings.TrimSuffix(base, ".py"), func(r rune) bool { return strings.ContainsRune("_-.", r) }) {
		switch strings.ToLower(word) {
		case "adam", "adamw", "adamw8bit", "adam8bit", "sgd", "lion", "lamb", "lars", "adafactor", "adagrad", "adadelta",
			"rmsprop", "nadam", "radam", "shampoo", "soap", "muon", "sophia", "galore", "prodigy", "adopt", "came":
			return true
		}
	}
	return false
}

func isBackward(file, name string) bool {
	switch {
	case name == "backward", strings.HasPrefix(name, "backward_"):
		return true
	case name == "unpack_hook":
		return strings.HasSuffix(file, "/torch/utils/checkpoint.py")
	}
	return name == "_engine_run_backward" || lines.ContainsAny(name, "post_backward", "_reduce_grad", "CompiledFunctionBackward") ||
		name == "foreach_reduce"
}

// isLoading recognises libraries that load data or move it to the device.
func isLoading(file, name string) bool {
	return name == "scatter" && strings.Contains(file, "/nn/parallel/") || lines.ContainsAny(file, "/torch/utils/data/", "/site-packages/datasets/") ||
		lines.ContainsAny(file, "/accelerate/", "/transformers/", "/lightning/", "/torch/") &&
			lines.ContainsAny(name, "send_to_device", "prepare_input", "batch_to_device", "move_data_to_device")
}

func isBuilding(file, base, name string) bool {
	switch name {
	case "broadcast_coalesced", "from_pretrained", "load_state_dict", "_load_pretrained_model", "_load_state_dict_into_meta_model", "create_weights",
		"load_weights", "weight_loader", "process_weights_after_loading", "set_module_tensor_to_device", "materialize", "to_empty",
		"load_checkpoint_in_model", "load_checkpoint_and_dispatch", "init_empty_weights":
		return true
	case "__init__", "reset_parameters":
		return strings.Contains(file, "/nn/modules/")
	}
	return strings.HasSuffix(file, "/torch/nn/init.py") || strings.HasSuffix(file, "/torch/nn/parameter.py") ||
		strings.Contains(file, "/safetensors/") || base == "swa_utils.py" ||
		lines.ContainsAny(file, "/fsdp/_flat_param", "/_init_utils.py", "/fsdp/_fsdp_param.py")
}

// isGather recognises functions that gather the sharded weights of a layer.
func isGather(file, name string) bool {
	return lines.ContainsAny(file, "/fsdp/", "/fully_shard", "/_composable/", "deepspeed/runtime/zero/") &&
		lines.ContainsAny(name, "unshard", "all_gather", "allgather", "alloc_storage", "_alloc_padded")
}

// isCache recognises caches of keys and values, but not caches of code, files or
// types.
func isCache(base, name string) bool {
	if lines.ContainsAny(name, "kv_cache", "kvcache", "KVCache", "past_key_value", "key_value_cache", "init_cache", "allocate_cache") {
		return true
	}
	if lines.ContainsAny(base, "memory_pool") && lines.ContainsAny(name, "buffer", "__init__") {
		return true
	}
	if !lines.ContainsAny(base, "cache") || lines.ContainsAny(base, "codecache", "lru", "file", "disk", "caching", "autotune", "model") {
		return false
	}
	return name != "forward" && lines.ContainsAny(name, "update", "append", "alloc", "init", "extend", "insert", "concat", "quant", "store", "push", "grow")
}

func isCall(file, name string) bool {
	switch name {
	case "_call_impl", "_wrapped_call_impl", "_slow_forward", "__call__":
		return strings.HasSuffix(file, "/nn/modules/module.py")
	case "forward", "recompute_fn":
		return !strings.Contains(file, "/torch/distributed/tensor/") // functions of autograd, not of a model
	}
	return strings.HasPrefix(name, "inner") && strings.HasSuffix(file, "/nn/modules/module.py")
}
