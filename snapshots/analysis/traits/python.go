package traits

import (
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
)

// ofPython judges a frame of Python.
func ofPython(file, base, name string) Set {
	var t Set
	t.add(lines.ContainsAny(name, "allocate_workspace", "_workspace_buffer", "get_workspace"), Workspace)
	t.add(lines.ContainsAny(name, "zero_grad"), Zeroes)
	t.add(lines.ContainsAny(name, "grad_buffer", "flat_grad", "_ipg_bucket", "reduce_bucket_buffer", "contiguous_grad"), GradientBuffers)
	t.add(strings.Contains(base, "grad") && strings.Contains(base, "buffer"), Flats)
	t.add(isBucket(file, name), Buckets)
	t.add(isCommunication(file, base, name), Communicates)
	t.add(strings.HasSuffix(file, "/torch/distributed/_functional_collectives.py") && !strings.HasPrefix(name, "__"), Collects)
	t.add(isGather(file, name), Gathers)
	t.add(isCache(base, name), Caches)
	beginning := name == "__init__" || name == "init_group" || strings.Contains(name, "init") && strings.Contains(name, "state") || strings.Contains(name, "state_buffer")
	optimizer := isOptimizerFile(file, base)
	t.add(optimizer && beginning || lines.ContainsAny(name, "_init_group", "init_optimizer_state"), BeginsState)
	t.add(optimizer || name == "wrapper" && strings.HasSuffix(file, "torch/optim/optimizer.py"), Updates) // PyTorch puts it around every step
	t.add(name == "closure", Closure)
	t.add(strings.HasSuffix(file, "/torch/autograd/function.py") && strings.HasPrefix(name, "apply"), Node)
	t.add(isBackward(file, name), Backward)
	t.add(isLoading(file, name), Loads)
	t.add(strings.HasSuffix(file, "/nn/modules/module.py") && !isCall(file, name), Moves)
	t.add(isBuilding(file, base, name), Builds)
	t.add(name == "call" && strings.Contains(file, "torchinductor") || strings.HasPrefix(file, "<eval_with_key>"), Compiled)
	t.add(isCall(file, name), Calls)
	t.add(strings.HasSuffix(file, "/torch/nn/functional.py") || strings.HasSuffix(file, "/torch/functional.py"), Computes)
	t.add(name == "__init__", Constructs)
	t.add(name == "_apply" && t&Moves != 0, Applies)
	if strings.HasSuffix(file, "/torch/utils/_contextlib.py") { // its functions have the decorator's name since PyTorch 2.15
		t.add(name == "enable_grad", Grad)
		t.add(name != "enable_grad", NoGrad)
	}
	t.add(strings.HasSuffix(file, "/torch/utils/checkpoint.py") || lines.ContainsAny(name, "CheckpointFunction", "recompute_fn"), Checkpoints)
	t.add(t&Calls != 0 && name != "forward", Modules)
	t.add(strings.Contains(file, "/torch/"), PyTorch)
	t.add(strings.Contains(file, "/torch/optim/") && strings.HasPrefix(name, "_multi_tensor_"), MultiTensor)
	t.add(t&MultiTensor != 0 && slices.Contains(fused, name), Fusible)
	return t
}

// fused are the steps of PyTorch's optimizers that it has one kernel for.
var fused = []string{"_multi_tensor_adam", "_multi_tensor_adamw", "_multi_tensor_sgd", "_multi_tensor_adagrad"}

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
	return name == "scatter" && strings.Contains(file, "/nn/parallel/") || name == "_recursive_to" && strings.HasSuffix(file, "/torch/distributed/utils.py") || lines.ContainsAny(file, "/torch/utils/data/", "/site-packages/datasets/") ||
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

// isBucket recognises the functions of DistributedDataParallel whose C++ makes its buckets.
func isBucket(file, name string) bool {
	return strings.HasSuffix(file, "/torch/nn/parallel/distributed.py") && (name == "_ddp_init_helper" || name == "_pre_forward")
}

// isCommunication recognises functions that make what collectives send and receive.
func isCommunication(file, base, name string) bool {
	switch base {
	case "_fsdp_collectives.py": // FSDP2; the whole weights themselves are made in _fsdp_param.py
		return strings.Contains(file, "/torch/")
	case "_fsdp_param.py":
		return name == "all_gather_inputs"
	case "_flat_param.py", "_runtime_utils.py": // FSDP1
		return strings.Contains(file, "/fsdp/") && (name == "_use_low_precision_shard" || name == "_get_reduce_scatter_tensors" || name == "_reduce_grad")
	case "distributed_c10d.py":
		return strings.HasSuffix(file, "/torch/distributed/distributed_c10d.py") && name != "_tensor_to_object" // which may unpickle anything
	case "utils.py":
		return name == "_sync_params_and_buffers" && strings.HasSuffix(file, "/torch/distributed/utils.py")
	}
	return false
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
