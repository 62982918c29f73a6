package iteration

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// role is the part of an iteration that a stack belongs to.
type role uint8

const (
	other    role = iota
	forward       // inside of a module
	backward      // inside of the autograd engine
	step          // inside of an optimizer's step
	clears        // inside of zero_grad
)

// call is a stack's role and the line that called for it.
type call struct {
	role   role
	caller trace.FrameID
}

// callOf judges a stack. The autograd engine counts wherever it is: what runs
// inside of it, a checkpointed layer or an optimizer, is part of the backward
// pass. Else the innermost frame decides that is known: a forward pass inside of an
// optimizer's closure is one.
func callOf(t *trace.Tables, code *lines.Code, stack trace.StackID) call {
	frames := t.Stack(stack)
	if inEngine(t, frames) {
		return call{role: backward}
	}
	inside := false // of an optimizer, though maybe not of its step
	for i, id := range frames {
		file, name := lines.Slashed(t.String(t.Frames[id].File)), t.String(t.Frames[id].Name)
		if !lines.IsPython(file) {
			continue
		}
		inside = inside || isOptimizer(file)
		switch {
		case name == "_call_impl":
			return call{role: forward}
		case name == "zero_grad":
			return call{clears, caller(t, code, frames[i+1:])}
		case inside && isOptimizer(file) && (name == "step" || name == "wrapper" || name == "profile_hook_step"):
			return call{step, caller(t, code, frames[i+1:])}
		}
	}
	return call{}
}

// StepLine returns the line that called for an optimizer's step, 0 for the stack of
// anything else.
func StepLine(t *trace.Tables, code *lines.Code, stack trace.StackID) trace.FrameID {
	if c := callOf(t, code, stack); c.role == step {
		return c.caller
	}
	return 0
}

// inEngine reports whether a stack is one of the backward pass. Of a stack of
// Python alone that is known by where it begins: threads of the engine have no
// frames of the program below its hooks.
func inEngine(t *trace.Tables, frames []trace.FrameID) bool {
	outermost := ""
	for _, id := range frames {
		file, name := lines.Slashed(t.String(t.Frames[id].File)), t.String(t.Frames[id].Name)
		switch {
		case !lines.IsPython(file):
			if strings.Contains(name, "autograd::Engine::") || strings.Contains(name, "::apply(") && strings.Contains(name, "Backward") {
				return true
			}
		case name == "_engine_run_backward", name == "_make_grads", name == "backward" && strings.HasSuffix(file, "torch/autograd/__init__.py"):
			return true
		default:
			outermost = file
		}
	}
	return strings.Contains(outermost, "torch/autograd/") || strings.HasSuffix(outermost, "torch/utils/checkpoint.py")
}

// isOptimizer knows files of optimizers by their names: torch/optim/adamw.py,
// apex/optimizers/fused_adam.py, optimizer.py. Schedulers of learning rates lie
// beside them.
func isOptimizer(file string) bool {
	at := strings.LastIndexByte(file, '/')
	folder := file[strings.LastIndexByte(file[:max(at, 0)], '/')+1 : max(at, 0)]
	name := file[at+1:]
	return (strings.Contains(folder, "optim") || strings.Contains(name, "optim")) && !strings.Contains(name, "schedul") && name != "swa_utils.py"
}

// caller returns the line that called for what the frames inside of it do: of the
// program, or of the library that runs its loop.
func caller(t *trace.Tables, code *lines.Code, outside []trace.FrameID) trace.FrameID {
	for _, id := range outside {
		f := t.Frames[id]
		if file := lines.Slashed(t.String(f.File)); !isOptimizer(file) && code.Installed(id) {
			return id
		}
	}
	return 0
}
