package analysis

import (
	"strconv"
	"strings"

	"memtop/snapshots/trace"
)

// The names of memory whose allocation stack is not known.
const (
	NoStack    = "no stack recorded"     // allocated within the trace
	HeldBefore = "held before recording" // from before
)

// folding says, per frame, whether it helps a reader.
type folding struct {
	runtime []bool // interpreter, dispatcher, allocator and unwinder glue
	user    []bool // Python code that is not a library's
}

func (x *Index) folding() *folding {
	return x.kept.folded.get(x, func(f *folding) *folding {
		if f == nil {
			f = new(folding)
		}
		f.read(x.tables)
		return f
	})
}

// read judges the frames that are new.
func (f *folding) read(t *trace.Tables) {
	for id := len(f.runtime); id < len(t.Frames); id++ {
		frame := t.Frames[id]
		file, name := slashed(t.String(frame.File)), t.String(frame.Name)
		runtime := id > 0 && isRuntime(file, name)
		f.runtime = append(f.runtime, runtime)
		f.user = append(f.user, id > 0 && !runtime && isUser(file, frame.Line))
	}
}

// isRuntime knows frames that are on every stack and tell nothing. PyTorch's
// viewer drops much the same; unlike it we ask for whole names where a part
// would also match a user's function.
func isRuntime(file, name string) bool {
	switch name {
	case "_start", "__clone", "clone", "__clone3", "start_thread", "__libc_init_first", "execute_native_thread_routine",
		"_call_impl", "_wrapped_call_impl", "pthread_condattr_setpshared",
		"std::error_code::default_error_condition() const":
		return true
	}
	if containsAny(name, "unwind::unwind", "CapturedTraceback::gather", "gather_with_cpp", "__libc_start_",
		"PyEval_", "PyObject_", "PyFunction_", "PyRun_", "Py_RunMain", "Py_BytesMain", "CUDACachingAllocator::",
		"wrap_kernel_functor_unboxed_", "::redispatch(", "make_boxed_from_unboxed_functor", "KernelFunction::",
		"at::detail::empty_", "at::detail::_empty_", "at::native::empty_", "TensorIteratorBase::", "::set_output_raw_") {
		return true
	}
	if strings.HasPrefix(name, "Py") || strings.HasPrefix(name, "_Py") {
		return !strings.HasSuffix(file, ".py")
	}
	if isGo(file) {
		return strings.HasPrefix(name, "runtime.") || isEngineGlue(name)
	}
	return containsAny(file, "core/boxing", "/Register", "/Redispatch", "pythonrun.c", "Modules/main.c",
		"Objects/call.c", "Objects/methodobject.c", "pycore_ceval.h", "ceval.c", "cpython/abstract.h") ||
		strings.HasPrefix(file, "Register")
}

// isUser knows Python code of the program itself.
func isUser(file string, line int32) bool {
	return line > 0 && isPython(file) && !containsAny(file, "site-packages/", "dist-packages/", "/lib/python3",
		"/torch/", "<frozen", "/cpython-", "torchinductor")
}

func isPython(file string) bool {
	return strings.HasSuffix(file, ".py") || strings.HasPrefix(file, "<") || strings.HasPrefix(file, "/tmp/ipykernel")
}

// isEngineGlue knows what our own engine calls around every layer and step, and
// what its program calls around everything.
func isEngineGlue(name string) bool {
	return containsAny(name, "engine/nn.(*Ctx).", "engine/autograd.(*Tape).", "engine/tensor.Try", ").Measure", "spf13/cobra.")
}

func isGo(file string) bool { return strings.HasSuffix(file, ".go") }

// FrameLabel returns a frame as "file:line function", or only the function
// when the file is not known, as is usual in C++.
func (x *Index) FrameLabel(id trace.FrameID) string {
	frame := x.tables.Frames[id]
	file := x.tables.String(frame.File)
	if frame.Line == 0 || file == "" || file == "??" {
		if name := x.tables.FrameName(id); name != "" {
			return name
		}
	}
	return x.tables.FrameText(id)
}

// ShortLabel is FrameLabel without the folders, without a C++ function's
// parameters and without the path of a Go function's package.
func (x *Index) ShortLabel(id trace.FrameID) string {
	frame := x.tables.Frames[id]
	file, name := slashed(x.tables.FrameFile(id)), x.tables.FrameName(id)
	if isGo(file) {
		name = name[strings.LastIndexByte(name, '/')+1:]
	} else {
		name = shortFunction(name)
	}
	if frame.Line == 0 || file == "" || file == "??" {
		return name
	}
	return file[strings.LastIndexByte(file, '/')+1:] + ":" + strconv.Itoa(int(frame.Line)) + " " + name
}

// shortFunction cuts a demangled C++ name down to its last two parts.
func shortFunction(name string) string {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "")
	if at := strings.IndexByte(name, '('); at > 0 && strings.Contains(name, "::") {
		name = name[:at]
	}
	if at := strings.IndexByte(name, '<'); at > 0 && strings.Contains(name, "::") {
		name = name[:at]
	}
	parts := strings.Split(name, "::")
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	return strings.Join(parts, "::")
}

// Telling returns up to n frames of a stack that tell a reader the most,
// innermost first: what was called, and the program's own lines that led there.
// Where the program is not on the stack, lines of its libraries stand in.
func (x *Index) Telling(stack trace.StackID, n int) []trace.FrameID {
	f := x.folding()
	operation := x.operation(stack)
	told := make([]trace.FrameID, 0, n+1)
	if operation != 0 {
		told = append(told, operation)
	}
	add := func(tells func(trace.FrameID) bool) {
		for _, frame := range x.tables.Stack(stack) {
			if len(told) < n && frame != operation && !f.runtime[frame] && tells(frame) {
				told = append(told, frame)
			}
		}
	}
	add(func(frame trace.FrameID) bool { return f.user[frame] })
	if len(told) <= 1 {
		add(func(frame trace.FrameID) bool { return isPython(x.tables.String(x.tables.Frames[frame].File)) })
	}
	if len(told) <= 1 {
		add(func(frame trace.FrameID) bool { return isGo(x.tables.String(x.tables.Frames[frame].File)) })
	}
	return told[:min(n, len(told))]
}

// operation finds the frame that names what allocated: the innermost line of
// Python, else the backward node, else the outermost operator, whose inner ones
// are how it is made.
func (x *Index) operation(stack trace.StackID) trace.FrameID {
	f := x.folding()
	var operator, first trace.FrameID
	for _, id := range x.tables.Stack(stack) {
		if f.runtime[id] {
			continue
		}
		name := x.tables.String(x.tables.Frames[id].Name)
		switch {
		case isPython(x.tables.String(x.tables.Frames[id].File)), isNode(name):
			return id
		case strings.Contains(name, "at::_ops::"):
			operator = id
		case first == 0:
			first = id
		}
	}
	if operator != 0 {
		return operator
	}
	return first
}

// isNode knows the frame that runs a node of the backward graph.
func isNode(name string) bool {
	return strings.Contains(name, "::apply(") && containsAny(name, "Backward", "AccumulateGrad::")
}

// StackName names a stack in one short line: the program's innermost own line,
// or the operation when the program is not on the stack.
func (x *Index) StackName(stack trace.StackID) string {
	if own := x.ownFrames(stack, 1); len(own) > 0 {
		return x.ShortLabel(own[0])
	}
	if operation := x.operation(stack); operation != 0 {
		return x.ShortLabel(operation)
	}
	if frames := x.tables.Stack(stack); len(frames) > 0 {
		return x.ShortLabel(frames[0])
	}
	return NoStack
}

// ownFrames returns up to n of the program's own lines, innermost first.
func (x *Index) ownFrames(stack trace.StackID, n int) []trace.FrameID {
	f := x.folding()
	var own []trace.FrameID
	for _, frame := range x.tables.Stack(stack) {
		if f.user[frame] && len(own) < n {
			own = append(own, frame)
		}
	}
	return own
}

// Frames returns a stack as lines of "file:line function", innermost first.
func (x *Index) Frames(stack trace.StackID) []string {
	frames := x.tables.Stack(stack)
	lines := make([]string, len(frames))
	for i, id := range frames {
		lines[i] = x.tables.FrameText(id)
	}
	return lines
}
