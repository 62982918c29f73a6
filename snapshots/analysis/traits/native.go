package traits

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
)

// ofNative judges a frame of C++ or Go, which is known by its function alone.
func ofNative(name string) Set {
	t := Native
	t.add(lines.ContainsAny(name, "CUDABlasHandle", "getNewWorkspace", "WorkspaceForHandle", "Workspace", "ncclMemAlloc", "_cudnn_init_dropout_state"), Workspace)
	t.add(lines.ContainsAny(name, "::zero_grad"), Zeroes)
	t.add(strings.Contains(name, "AccumulateGrad"), Accumulates)
	t.add(strings.Contains(name, "autocast::cached_cast"), Casts)
	t.add(strings.Contains(name, "c10d::Reducer"), Buckets)
	t.add(lines.ContainsAny(name, "c10d::ProcessGroup", "c10d::broadcast_coalesced"), Communicates)
	t.add(strings.HasPrefix(name, "c10d::all_") || strings.HasPrefix(name, "c10d::reduce_scatter_tensor"), Collects)
	t.add(lines.ContainsAny(name, "autograd::Engine", "CompiledFunctionBackward") || isNode(name), Backward)
	t.add(strings.Contains(name, "autograd.(*checkpoint)."), Checkpoints) // our own engine's
	t.add(strings.Contains(name, "torch::optim::"), Updates)
	t.add(strings.Contains(name, "torch::data::"), Loads)
	t.add(lines.ContainsAny(name, "torch::nn::Module::to", "nn::Cloneable", "torch::jit::load", "jit::Unpickler"), Moves)
	t.add(strings.Contains(name, "torch::nn::") && strings.Contains(name, "Impl::reset"), Builds)
	t.add(strings.Contains(name, "torch::nn::") && strings.Contains(name, "::forward") || strings.Contains(name, "InterpreterStateImpl::run"), Calls)
	t.add(strings.HasPrefix(name, "at::_ops::bmm::") || strings.HasPrefix(name, "at::_ops::baddbmm::"), Product)
	if _, after, ok := strings.Cut(name, "at::_ops::"); ok {
		operation, _, _ := strings.Cut(after, "::")
		t |= ofOperation(operation)
	}
	t.add(strings.HasPrefix(name, "at::native::_to_copy") || lines.ContainsAny(name, "THPVariable_to(", "THPVariable_cuda("), Copies)
	return t
}

// isNode knows the function that runs a node of the backward graph.
func isNode(name string) bool {
	at := strings.Index(name, "Backward")
	return at >= 0 && (strings.Contains(name[at:], "::apply") || strings.Contains(name[at:], "_apply_functional") ||
		strings.Contains(name[at:], "::release_variables"))
}

// ofOperation tells operations that only make or copy a tensor from those that
// compute, and those of optimizers from both.
func ofOperation(operation string) Set {
	switch {
	case operation == "zeros", operation == "full", strings.HasPrefix(operation, "empty"):
		return Copies
	case strings.HasPrefix(operation, "_fused_adam"), strings.HasPrefix(operation, "_fused_sgd"), strings.HasPrefix(operation, "_foreach_"):
		return Foreach
	case lines.ContainsAny(operation, "_to_copy", "empty", "zeros", "ones", "full", "rand", "arange", "tril", "triu", "linspace", "clone"),
		operation == "to", strings.HasPrefix(operation, "to_") && operation != "to_dtype", operation == "copy_", operation == "eye":
		return Copies
	}
	return Computes
}
