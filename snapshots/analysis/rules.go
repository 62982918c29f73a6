package analysis

import (
	"strings"

	"memtop/snapshots/trace"
)

// Guessing categories from stacks
//
// PyTorch does not say what an allocation is for, so memtop guesses from its
// stack. Every frame is held against the rules below. The innermost frame that
// a rule knows decides: a checkpointed layer that runs again inside backward
// makes activations, a backward pass inside an optimizer's closure makes
// gradients. When no frame decides, the fallback rules look again in order.
// Memory that optimizer code gives back before anything else allocates is
// workspace, not state. Wherever a guess is shown, it is marked as one.

// guessRule knows frames of one kind.
type guessRule struct {
	name     string
	category trace.Category
	fallback bool
	match    func(file, name string) bool
}

// optimizerRule is the number of the rule that knows optimizer code.
const optimizerRule = 1

var guessRules = []guessRule{
	{"library workspace", trace.Workspace, false, isWorkspace},
	{"optimizer code", trace.Optimizer, false, isOptimizer},
	{"autograd engine", trace.Gradient, false, isBackward},
	{"data loading", trace.Input, false, isDataLoading},
	{"module construction", trace.Parameter, false, isConstruction},
	{"module call", trace.Activation, false, isModuleCall},
	{"copy to the device outside any module", trace.Input, true, isCopy},
	{"functional operation outside any module", trace.Activation, true, isFunctional},
}

// The verdicts that no single frame gives.
const (
	ruleExact uint8 = 200 + iota
	ruleTransient
	ruleConstructor
	ruleHeld
	ruleNoStack
	ruleNone
)

func ruleName(rule uint8) string {
	switch rule {
	case ruleExact:
		return "noted by the writer"
	case ruleTransient:
		return "optimizer code, freed before anything else allocates"
	case ruleConstructor:
		return "allocated by a constructor"
	case ruleHeld:
		return "held from before recording"
	case ruleNoStack:
		return "no stack recorded"
	case ruleNone:
		return "no rule matched"
	default:
		return guessRules[rule].name
	}
}

// readStacks judges the stacks that are new.
func (c *classifier) readStacks(t *trace.Tables) {
	for id := len(c.masks); id < len(t.Frames); id++ {
		f, mask := t.Frames[id], uint16(0)
		if id > 0 {
			mask = frameMask(slashed(t.String(f.File)), t.String(f.Name))
		}
		c.masks = append(c.masks, mask)
	}
	for id := len(c.stacks); id < t.StackCount(); id++ {
		v := guess(t.Stack(trace.StackID(id)), c.masks)
		if v.rule == ruleNone {
			v = guessConstructor(t, trace.StackID(id))
		}
		c.stacks = append(c.stacks, v)
		c.transient.add(v.category == trace.Optimizer)
	}
}

// guessConstructor takes what a constructor allocates itself, and not in
// something that it calls, for a parameter: layers of the program's own look
// like that.
func guessConstructor(t *trace.Tables, stack trace.StackID) verdict {
	for _, frame := range t.Stack(stack) {
		f := t.Frames[frame]
		if !isPython(t.String(f.File)) {
			continue
		}
		if t.String(f.Name) == "__init__" {
			return verdict{trace.Parameter, ruleConstructor, frame}
		}
		break
	}
	return verdict{category: trace.OtherCategory, rule: ruleNone}
}

func frameMask(file, name string) uint16 {
	var mask uint16
	for r := range guessRules {
		if guessRules[r].match(file, name) {
			mask |= 1 << r
		}
	}
	return mask
}

func guess(stack []trace.FrameID, masks []uint16) verdict {
	if len(stack) == 0 {
		return verdict{category: trace.OtherCategory, rule: ruleNoStack}
	}
	for _, fallback := range []bool{false, true} {
		for _, frame := range stack {
			for r := range guessRules {
				if masks[frame]&(1<<r) != 0 && guessRules[r].fallback == fallback {
					return verdict{guessRules[r].category, uint8(r), frame}
				}
			}
		}
	}
	return verdict{category: trace.OtherCategory, rule: ruleNone}
}

// slashed turns Windows paths into the form the rules are written in.
func slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }

func isWorkspace(_, name string) bool {
	return containsAny(name, "CUDABlasHandle", "getNewWorkspace", "allocate_workspace", "_workspace", "Workspace")
}

func isOptimizer(file, name string) bool {
	if containsAny(name, "_init_group", "exp_avg") {
		return true
	}
	if strings.Contains(file, "/optim/") {
		// The wrapper around every step is also around its closure.
		return !strings.HasSuffix(file, "/optim/optimizer.py") && !strings.HasSuffix(file, "/optim/lr_scheduler.py")
	}
	base := file[strings.LastIndexByte(file, '/')+1:]
	return base == "optimizer.py" || base == "optimizers.py" || base == "optim.py" || strings.Contains(file, "/optimizers/")
}

func isBackward(file, name string) bool {
	if name == "backward" || strings.HasPrefix(name, "backward_") {
		return true
	}
	if containsAny(name, "autograd::Engine", "AccumulateGrad", "CompiledFunctionBackward", "c10d::Reducer") {
		return true
	}
	if at := strings.Index(name, "Backward"); at >= 0 && strings.Contains(name[at:], "::apply") {
		return true
	}
	return strings.HasSuffix(file, "/torch/autograd/graph.py") && name == "_engine_run_backward"
}

func isDataLoading(file, name string) bool {
	return containsAny(file, "/torch/utils/data/", "/dataloader", "/data_loader") ||
		containsAny(name, "collate", "pin_memory")
}

func isConstruction(file, name string) bool {
	switch name {
	case "from_pretrained", "load_state_dict", "_load_pretrained_model", "_load_state_dict_into_meta_model":
		return true
	case "__init__", "reset_parameters":
		return strings.Contains(file, "/nn/modules/")
	}
	if strings.HasSuffix(file, "/nn/modules/module.py") {
		return !isModuleCall(file, name) // to, cuda, half, _apply, convert, …
	}
	return strings.HasSuffix(file, "/torch/nn/init.py") || strings.HasSuffix(file, "/torch/nn/parameter.py") ||
		strings.Contains(file, "/fsdp/_flat_param")
}

func isModuleCall(file, name string) bool {
	switch name {
	case "_call_impl", "_wrapped_call_impl", "_slow_forward", "__call__":
		return strings.HasSuffix(file, "/nn/modules/module.py")
	case "forward", "recompute_fn":
		return true
	case "call":
		return strings.Contains(file, "torchinductor")
	}
	return strings.HasPrefix(name, "inner") && strings.HasSuffix(file, "/nn/modules/module.py")
}

func isCopy(_, name string) bool {
	return strings.HasPrefix(name, "at::native::_to_copy") || strings.HasPrefix(name, "at::native::to(") ||
		containsAny(name, "THPVariable_to(", "THPVariable_cuda(")
}

func isFunctional(file, _ string) bool {
	return strings.HasSuffix(file, "/torch/nn/functional.py") || strings.HasSuffix(file, "/torch/functional.py")
}

func containsAny(s string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}
