package category_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// more are frames and stacks of code that a program writes itself.
const more = names + `
frame bare "/home/me/train.py" 300 "step"
frame anywhere "/home/me/loop.py" 310 "step"
frame closure "/home/me/train.py" 320 "closure"
frame environment "/home/me/env/game.py" 330 "step"
frame applied "/env/site-packages/torch/nn/modules/module.py" 957 "_apply"
frame gradapplied "/env/site-packages/torch/nn/modules/module.py" 978 "_apply"
frame converts "/env/site-packages/torch/nn/modules/module.py" 1374 "convert"
frame function "/env/site-packages/torch/autograd/function.py" 598 "apply"
frame unpack "/env/site-packages/torch/utils/checkpoint.py" 1129 "unpack_hook"
frame generated "<eval_with_key>.5" 20 "forward"
frame copied "??" 0 "at::_ops::to_dtype_layout::call(at::Tensor const&)"
frame product "??" 0 "at::_ops::mm::call(at::Tensor const&, at::Tensor const&)"
frame handle "??" 0 "at::cuda::getCurrentCUDABlasHandle()"
frame interpreter "??" 0 "_PyEval_EvalFrameDefault"
stack ownupdate malloc bare wrapper main
stack plainupdate malloc anywhere main
frame inner "/home/me/train.py" 305 "update"
stack innerupdate malloc inner wrapper main
stack nested malloc generated function engine layer call main
stack closed malloc product closure bare wrapper main
stack played malloc product environment main
stack moving1 malloc converts applied main
stack moving2 malloc converts gradapplied main
stack applies malloc function layer call main
stack applied malloc layer function interpreter engine
stack generatedforward malloc generated function layer call main
stack generatedback malloc generated function engine
stack unpacked malloc layer call unpack function engine
stack blas malloc handle layer call main
stack copies malloc copied main
stack computes malloc product main
`

// calls writes calls of a model of eight layers. Each layer makes what a graph would keep and
// what none does; kept says by which stack the former is freed, after or within the call.
func calls(n int, kept string, within bool) string {
	var text strings.Builder
	for range n {
		for k := range 8 {
			fmt.Fprintf(&text, "alloc 0x%d000 512 stack=%s\n", k+1, []string{"forward", "second"}[k%2])
			text.WriteString("alloc 0x9000 512 stack=second\nfree_completed 0x9000 512 stack=second\n")
			if within {
				fmt.Fprintf(&text, "free_completed 0x%d000 512 stack=%s\n", k+1, kept)
			}
		}
		for k := range 8 {
			if !within {
				fmt.Fprintf(&text, "free_completed 0x%d000 512 stack=%s\n", k+1, kept)
			}
		}
	}
	return text.String()
}

// moves writes a module's move: weights and what comes after them, by size.
func moves(weights, after []int64) string {
	var text strings.Builder
	at := 0x1000
	for _, part := range []struct {
		stack string
		sizes []int64
	}{{"moving1", weights}, {"moving2", after}} {
		for _, size := range part.sizes {
			fmt.Fprintf(&text, "alloc 0x%x %d stack=%s\n", at, size, part.stack)
			at += 0x10000
		}
	}
	return text.String()
}

// made writes allocations of one stack.
func made(stack string, sizes ...int64) string {
	var text strings.Builder
	for k, size := range sizes {
		fmt.Fprintf(&text, "alloc 0x%d0000000 %d stack=%s\n", k+1, size, stack)
	}
	return text.String()
}

// TestEvidence has, for each kind of evidence, a trace that shows it and one in which it must not
// be seen. It judges what one event makes.
func TestEvidence(t *testing.T) {
	const (
		later  = "alloc 0x8000 64 stack=forward\n"
		scrap  = "alloc 0x8000 64 stack=back\nfree_completed 0x8000 64 stack=back\n"
		update = "alloc 0x7000 64 stack=sgdstep\nfree_completed 0x7000 64 stack=sgdstep\n"
	)
	tests := map[string]struct {
		events string
		event  trace.AllocationID
		want   trace.Category
	}{
		"what outlives its layer in every layer has a graph, without a backward": {calls(2, "loop", false), 0, trace.Activation},
		"and so has what goes in the same layer":                                 {calls(2, "loop", false), 1, trace.Activation},
		"but not what the call itself frees":                                     {calls(2, "second", true), 0, trace.Inference},
		"a cuBLAS workspace in the middle does not cut a call": {
			"alloc 0x1000 512 stack=forward\nalloc 0x100000 8519680 stack=blas\n" + calls(1, "loop", false), 0, trace.Activation,
		},

		"state of an optimizer in any file, under PyTorch's wrapper": {"alloc 0x1000 512 stack=ownupdate\n" + later, 0, trace.Optimizer},
		"and under it in any function":                               {"alloc 0x1000 512 stack=innerupdate\n" + later, 0, trace.Optimizer},
		"but not what any function called step makes":                {"alloc 0x1000 512 stack=plainupdate\n" + later, 0, trace.OtherCategory},
		"but not what a step's closure computes":                     {"alloc 0x1000 512 stack=closed\n" + scrap + "free_completed 0x1000 512 stack=back\n" + update, 0, trace.Activation},
		"nor what the step of something else makes":                  {"alloc 0x1000 512 stack=played\n" + scrap + "free_completed 0x1000 512 stack=back\n" + update, 0, trace.Activation},

		"gradients that move with their weights":                     {moves([]int64{4096, 4096, 512}, []int64{4096, 4096, 512}), 3, trace.Gradient},
		"but not buffers, which have some of the sizes":              {moves([]int64{4096, 4096, 512}, []int64{512}), 3, trace.Parameter},
		"nor buffers that have a size more often":                    {moves([]int64{4096, 512}, []int64{512, 512, 4096}), 2, trace.Parameter},
		"and the weights before them stay weights":                   {moves([]int64{4096, 4096, 512}, []int64{4096, 4096, 512}), 0, trace.Parameter},
		"a function that the program applies is forward":             {"alloc 0x1000 512 stack=applies\n" + scrap + "free_completed 0x1000 512 stack=back\n", 0, trace.Activation},
		"but one that the engine applies is backward":                {"alloc 0x1000 512 stack=generatedback\nfree_completed 0x1000 512 stack=generatedback\n" + later, 0, trace.BackwardTemporary},
		"also where a module's call runs the engine":                 {"alloc 0x1000 512 stack=nested\nfree_completed 0x1000 512 stack=nested\n" + later, 0, trace.BackwardTemporary},
		"generated code that the program applies is forward":         {"alloc 0x1000 512 stack=generatedforward\n" + scrap + "free_completed 0x1000 512 stack=back\n", 0, trace.Activation},
		"what a checkpoint computes again has a graph":               {"alloc 0x1000 512 stack=unpacked\nfree_completed 0x1000 512 stack=unpacked\n" + later, 0, trace.Activation},
		"a copy of every weight beside the model is the optimizer's": {moves([]int64{4096, 8192, 512, 512}, nil) + made("copies", 4096, 8192, 512, 512), 4, trace.Optimizer},
		"and so is one in twice the bytes":                           {moves([]int64{4096, 8192, 512, 512}, nil) + made("copies", 8192, 16384, 1024, 1024), 4, trace.Optimizer},
		"but not what only has some of the sizes":                    {moves([]int64{4096, 8192, 512, 512}, nil) + made("copies", 4096, 512, 512, 256), 4, trace.OtherCategory},
		"nor what has all of them and more":                          {moves([]int64{4096, 8192, 512, 512}, nil) + made("copies", 4096, 8192, 512, 512, 100_000), 4, trace.OtherCategory},
		"but not what it has just made":                              {scrap + "alloc 0x1000 512 stack=back\n", 2, trace.BackwardTemporary},
		"temporaries of a step in any file are not its state":        {"alloc 0x1000 512 stack=ownupdate\nfree_completed 0x1000 512 stack=ownupdate\n" + later, 0, trace.Optimizer},
		"what the script copies to the device is input":              {"alloc 0xa000 512 stack=copies\n" + calls(1, "loop", false), 0, trace.Input},
		"but not if no call of the model follows":                    {calls(1, "loop", false) + "alloc 0xa000 512 stack=copies\n" + later, 32, trace.OtherCategory},
		"but not what the script computes":                           {"alloc 0x1000 512 stack=computes\n" + scrap + "free_completed 0x1000 512 stack=back\n", 0, trace.Activation},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j, _ := judged(t, more, test.events)
			wantCategory(t, j, test.event, test.want)
		})
	}
}

// TestWhatAutocastKeepsMakesNoGraph has calls of a model, each of which keeps half of
// what it makes until it ends: copies of weights, or activations.
func TestWhatAutocastKeepsMakesNoGraph(t *testing.T) {
	for kept, want := range map[string]trace.Category{"cast": trace.Inference, "second": trace.Activation} {
		from := [2]string{kept, kept}
		if kept == "second" {
			from[1] = "forward" // a graph keeps what different operations made
		}
		t.Run(kept, func(t *testing.T) {
			var text strings.Builder
			for range 3 {
				for k := range 8 {
					fmt.Fprintf(&text, "alloc 0x%d000 512 stack=%s\nalloc 0x9000 256 stack=forward\nfree_completed 0x9000 256 stack=forward\n", k+1, from[k%2])
				}
				for k := range 8 {
					fmt.Fprintf(&text, "free_completed 0x%d000 512 stack=loop\n", k+1)
				}
				text.WriteString("alloc 0x7000 64 stack=sgdstep\nfree_completed 0x7000 64 stack=sgdstep\n")
			}
			j, _ := judged(t, names, text.String())
			wantCategory(t, j, 0, want)
		})
	}
}

// TestALoopOfTemporariesHidesNoGraph has a call make a thousand blocks that live for a
// moment, and some that backward frees: what a variable keeps of the call is of a graph.
func TestALoopOfTemporariesHidesNoGraph(t *testing.T) {
	for freed, want := range map[int]trace.Category{7: trace.Inference, 8: trace.Activation} {
		t.Run(fmt.Sprint(freed), func(t *testing.T) {
			var text strings.Builder
			text.WriteString("alloc 0x1000 4096 stack=second\n")
			for k := range freed {
				fmt.Fprintf(&text, "alloc 0x%d0000 512 stack=forward\n", k+1)
			}
			text.WriteString(strings.Repeat("alloc 0x9000 256 stack=forward\nfree_completed 0x9000 256 stack=forward\n", 1000))
			text.WriteString("alloc 0x8000 64 stack=back\nfree_completed 0x8000 64 stack=back\n")
			for k := range freed {
				fmt.Fprintf(&text, "free_completed 0x%d0000 512 stack=back\n", k+1)
			}
			text.WriteString("alloc 0x7000 64 stack=sgdstep\nfree_completed 0x7000 64 stack=sgdstep\nfree_completed 0x1000 4096 stack=loop\n")
			j, _ := judged(t, names, text.String())
			wantCategory(t, j, 0, want)
		})
	}
}
