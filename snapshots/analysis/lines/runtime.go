package lines

import "strings"

// isRuntime knows frames that are on every stack and tell nothing. PyTorch's
// viewer drops much the same; unlike it we ask for whole names where a part
// would also match a user's function.
func isRuntime(file, name string) bool {
	if IsPython(file) {
		return name == "_call_impl" || name == "_wrapped_call_impl" || within(file, agent[:])
	}
	switch name {
	case "_start", "__clone", "clone", "__clone3", "start_thread", "__libc_init_first", "execute_native_thread_routine",
		"pthread_condattr_setpshared", "std::error_code::default_error_condition() const":
		return true
	}
	if ContainsAny(name, "unwind::unwind", "CapturedTraceback::gather", "gather_with_cpp", "__libc_start_",
		"PyEval_", "PyObject_", "PyFunction_", "PyRun_", "Py_RunMain", "Py_BytesMain", "CUDACachingAllocator::", "HIPCachingAllocator::",
		"wrap_kernel_functor_unboxed_", "::redispatch(", "make_boxed_from_unboxed_functor", "KernelFunction::",
		"at::detail::empty_", "at::detail::_empty_", "at::native::empty_", "TensorIteratorBase::", "::set_output_raw_") {
		return true
	}
	if hasPrefix(name, "Py", "_Py") {
		return true
	}
	if IsGo(file) {
		// Of our own engine, what is called around every layer and step, and what its program calls around everything.
		return strings.HasPrefix(name, "runtime.") || ContainsAny(name, "engine/nn.(*Ctx).", "engine/autograd.(*Tape).", "engine/tensor.Try", ").Measure", "spf13/cobra.")
	}
	return ContainsAny(file, "core/boxing", "/Register", "/Redispatch", "pythonrun.c", "Modules/main.c",
		"Objects/call.c", "Objects/methodobject.c", "pycore_ceval.h", "ceval.c", "cpython/abstract.h") ||
		strings.HasPrefix(file, "Register")
}

// agent are the rooms of memtop's agent whose functions stand between a program's and PyTorch's.
var agent = [...]string{"memtop/hooks/", "memtop/watch/", "memtop/memory/", "memtop/settings/", "memtop/safety/", "memtop/rehearsal/"}
