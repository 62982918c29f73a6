package category

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
)

// nativeTraits reads a frame of C++, which is known by its function alone.
func nativeTraits(name string) trait {
	t := native
	add := func(is bool, of trait) {
		if is {
			t |= of
		}
	}
	add(lines.ContainsAny(name, "CUDABlasHandle", "getNewWorkspace", "WorkspaceForHandle", "Workspace", "ncclMemAlloc", "_cudnn_init_dropout_state"), workspaces)
	add(lines.ContainsAny(name, "::zero_grad"), zeroes)
	add(strings.Contains(name, "AccumulateGrad"), accumulates)
	add(strings.Contains(name, "autocast::cached_cast"), casts)
	add(strings.Contains(name, "c10d::Reducer"), gradBuffers)
	add(lines.ContainsAny(name, "autograd::Engine", "CompiledFunctionBackward") || isNode(name), backs)
	add(strings.Contains(name, "torch::optim::"), updates)
	add(strings.Contains(name, "torch::data::"), loads)
	add(lines.ContainsAny(name, "torch::nn::Module::to", "nn::Cloneable", "torch::jit::load", "jit::Unpickler"), moves)
	add(strings.Contains(name, "torch::nn::") && strings.Contains(name, "Impl::reset"), builds)
	add(strings.Contains(name, "torch::nn::") && strings.Contains(name, "::forward") || strings.Contains(name, "InterpreterStateImpl::run"), calls)
	if _, after, ok := strings.Cut(name, "at::_ops::"); ok {
		operation, _, _ := strings.Cut(after, "::")
		t |= operationTraits(operation)
	}
	add(strings.HasPrefix(name, "at::native::_to_copy") || lines.ContainsAny(name, "THPVariable_to(", "THPVariable_cuda("), copies)
	return t
}

// isNode knows the function that runs a node of the backward graph.
func isNode(name string) bool {
	at := strings.Index(name, "Backward")
	return at >= 0 && (strings.Contains(name[at:], "::apply") || strings.Contains(name[at:], "_apply_functional") ||
		strings.Contains(name[at:], "::release_variables"))
}

// operationTraits tells operations that only make or copy a tensor from those that
// compute, and those of optimizers from both.
func operationTraits(operation string) trait {
	switch {
	case operation == "zeros", operation == "full", strings.HasPrefix(operation, "empty"):
		return copies
	case strings.HasPrefix(operation, "_fused_adam"), strings.HasPrefix(operation, "_fused_sgd"), strings.HasPrefix(operation, "_foreach_"):
		return foreach
	case lines.ContainsAny(operation, "_to_copy", "empty", "zeros", "ones", "full", "rand", "arange", "tril", "triu", "linspace", "clone"),
		operation == "to", strings.HasPrefix(operation, "to_") && operation != "to_dtype", operation == "copy_", operation == "eye":
		return copies
	}
	return computes
}
