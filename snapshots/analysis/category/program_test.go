package category_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// own are frames and stacks of a program that keeps weights, caches and data itself.
const own = more + `
frame helper "/home/me/train.py" 340 "make"
frame other "/home/me/train.py" 341 "make"
frame master "/home/me/train.py" 350 "main"
frame average "/home/me/train.py" 360 "average"
frame decorated "/env/site-packages/torch/utils/_contextlib.py" 116 "decorate_context"
frame reserve "/home/me/serve.py" 20 "reserve"
frame zeros "??" 0 "at::_ops::zeros::call(c10::ArrayRef<c10::SymInt>)"
frame randn "??" 0 "at::_ops::randn::call(c10::ArrayRef<c10::SymInt>)"
frame attention "/home/me/model.py" 70 "forward"
frame keys "/home/me/model.py" 71 "forward"
frame summed "/env/site-packages/torch/nn/parallel/comm.py" 110 "reduce_add"
frame coalesced "/env/site-packages/torch/nn/parallel/_functions.py" 42 "forward"
frame broadcasts "/env/site-packages/torch/nn/parallel/_functions.py" 36 "backward"
frame replicates "/env/site-packages/torch/nn/parallel/comm.py" 60 "broadcast_coalesced"
frame scatters "/env/site-packages/torch/nn/parallel/comm.py" 190 "scatter"
frame query "/home/me/model.py" 80 "forward"
frame key "/home/me/model.py" 81 "forward"
frame ungraphed "/env/site-packages/torch/utils/_contextlib.py" 158 "no_grad"
frame graphed "/env/site-packages/torch/utils/_contextlib.py" 158 "enable_grad"
frame cast "??" 0 "at::_ops::to_dtype::call(at::Tensor const&, c10::ScalarType)"
frame past "/home/me/model.py" 20 "__init__"
stack queried malloc layer call query call main
stack keyed malloc layer call key call main
stack decorated malloc layer call ungraphed key call main
stack regraphed malloc layer call graphed ungraphed main
stack widened malloc cast main
stack pasts malloc zeros past main
stack made1 malloc randn helper main
stack made2 malloc randn other main
stack mastering malloc copied master main
stack averaging malloc product average main
stack averaged average main
stack handmade malloc product helper decorated main
stack reserved malloc zeros reserve main
stack loaded malloc randn reserve main
stack grows malloc attention call decorated main
stack keeps malloc keys call decorated main
stack reduced malloc summed coalesced function broadcasts function interpreter engine
stack released engine
stack replicas malloc replicates layer call main
stack scattered malloc scatters layer call main
`

// step is a step of a model with one weight of each size: its gradients are there until zero_grad.
func step(sizes ...int64) string {
	var text strings.Builder
	text.WriteString("alloc 0xe00000 64 stack=forward\n")
	for k, size := range sizes {
		fmt.Fprintf(&text, "alloc 0xa%d0000 %d stack=back\n", k, size)
	}
	text.WriteString("free_completed 0xe00000 64 stack=back\nalloc 0xf00000 64 stack=sgdstep\nfree_completed 0xf00000 64 stack=sgdstep\n")
	for k, size := range sizes {
		fmt.Fprintf(&text, "free_completed 0xa%d0000 %d stack=zeroing\n", k, size)
	}
	return text.String()
}

// TestAProgramsOwn judges what one event makes of what a program keeps without a library.
func TestAProgramsOwn(t *testing.T) {
	const (
		scrap   = "alloc 0x8000 64 stack=back\nfree_completed 0x8000 64 stack=back\n"
		batch   = "alloc 0x1000 512 stack=averaging\n"
		model   = "alloc 0x2000 64 stack=forward\n"
		later   = "alloc 0x6000 64 stack=forward\n"
		trained = model + scrap + "free_completed 0x2000 64 stack=back\n"
	)
	weights := []int64{4096, 8192, 512}
	tests := map[string]struct {
		events string
		event  int
		want   trace.Category
	}{
		"weights in a list have gradients":          {made("made1", weights...) + step(weights...) + step(weights...), 0, trace.Parameter},
		"but not if most gradients have no block":   {made("made1", 4096) + step(weights...) + step(weights...), 0, trace.Input},
		"nor what is made after them":               {made("made1", weights...) + step(weights...) + "alloc 0x900000 8192 stack=made2\n", 13, trace.OtherCategory},
		"a copy that zero_grad frees is a gradient": {"alloc 0x1000 512 stack=mastering\nfree_completed 0x1000 512 stack=zeroing\n" + model, 0, trace.Gradient},
		"a weight is replaced on the line that makes the next": {
			moves([]int64{512}, nil) + "alloc 0x900000 512 stack=averaging\nfree_completed 0x1000 512 stack=averaged\n" + trained, 1, trace.Parameter,
		},
		"but not on another line": {
			moves([]int64{512}, nil) + "alloc 0x900000 512 stack=averaging\nfree_completed 0x1000 512 stack=loop\n" + trained, 1, trace.Input,
		},
		"an update by hand has temporaries": {step(weights...) + scrap + "alloc 0x900000 4096 stack=handmade\nfree_completed 0x900000 4096 stack=loop\n" + model, 12, trace.Optimizer},
		"but not of sizes without gradients": {
			step(weights...) + scrap + "alloc 0x900000 4000 stack=handmade\nfree_completed 0x900000 4000 stack=loop\n" + model, 12, trace.OtherCategory,
		},
		"nor before any backward pass":                                {"alloc 0x900000 4096 stack=handmade\nfree_completed 0x900000 4096 stack=loop\n" + model + step(weights...), 0, trace.OtherCategory},
		"what is computed before the model's call is input":           {batch + trained, 0, trace.Input},
		"but not what is computed after":                              {model + batch + scrap + "free_completed 0x1000 512 stack=loop\n", 1, trace.Inference},
		"a result in another width is the model's":                    {batch + model + "alloc 0x3000 512 stack=mastering\nalloc 0x4000 64 stack=averaging\n" + scrap + "free_completed 0x2000 64 stack=back\n", 2, trace.Activation},
		"and so is one before the next call":                          {batch + model + "alloc 0x3000 512 stack=widened\n" + model, 2, trace.Inference},
		"but a copy before the next call is input":                    {batch + model + "alloc 0x3000 512 stack=mastering\n" + model, 2, trace.Input},
		"what makes a graph again has one":                            {"alloc 0x1000 512 stack=regraphed\nalloc 0x3000 64 stack=regraphed\n" + scrap + "free_completed 0x3000 64 stack=back\n", 0, trace.Activation},
		"a constructor makes no weights where the model is moved":     {moves(weights, nil) + "alloc 0x900000 512000 stack=pasts\n" + trained, 3, trace.OtherCategory},
		"unless they have gradients":                                  {moves(weights, nil) + "alloc 0x900000 8192 stack=pasts\n" + step(weights...), 3, trace.Parameter},
		"weights in a list may go at the end":                         {made("made1", weights...) + step(weights...) + step(weights...) + "free_completed 0x10000000 4096 stack=loop\n", 0, trace.Parameter},
		"what a later backward pass frees has a graph":                {"alloc 0x1000 512 stack=back\n" + model + "alloc 0x3000 64 stack=back\nfree_completed 0x1000 512 stack=back\n" + scrap, 0, trace.Activation},
		"but not what the engine frees when a pass has gone":          {"alloc 0x1000 512 stack=back\n" + model + "free_completed 0x1000 512 stack=released\n" + later + scrap, 0, trace.BackwardTemporary},
		"what its thread lets go when a step has ended is a gradient": {"alloc 0x1000 512 stack=back\n" + model + later + "free_completed 0x1000 512 stack=released\n" + scrap, 0, trace.Gradient},
		"the last pass leaves as many gradients as others":            {step(weights...) + model + "alloc 0xa00000 4096 stack=back\n", 11, trace.Gradient},
		"but no more": {step(weights...) + model + "alloc 0xa00000 4096 stack=back\nalloc 0xb00000 4096 stack=back\n", 12, trace.BackwardTemporary},
		"a function that backward applies adds gradients": {model + "alloc 0x1000 512 stack=reduced\n" + scrap + step(512), 1, trace.Gradient},
		"weights are broadcast to replicas":               {"alloc 0x1000 512 stack=replicas\n" + trained + "free_completed 0x1000 512 stack=back\n", 0, trace.Parameter},
		"a batch is scattered to replicas":                {"alloc 0x1000 512 stack=scattered\n" + trained + "free_completed 0x1000 512 stack=back\n", 0, trace.Input},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j, _ := judged(t, own, test.events)
			wantCategory(t, j, trace.AllocationID(test.event), test.want)
		})
	}
}

// TestAPartOfAForwardPassWithoutAGraph has an encoder that is trained and, on another line of the same forward
// function, one that is not. What the second computes goes within the call, unless backward frees some of it.
func TestAPartOfAForwardPassWithoutAGraph(t *testing.T) {
	const kept = 10
	for _, test := range []struct {
		stack  string
		backed int // blocks of the second that backward frees
		want   trace.Category
	}{{"keyed", 0, trace.Inference}, {"keyed", 8, trace.Activation}, {"decorated", 8, trace.Inference}, {"queried", 0, trace.Activation}} {
		t.Run(fmt.Sprint(test.stack, test.backed), func(t *testing.T) {
			var text strings.Builder
			for k := range kept {
				fmt.Fprintf(&text, "alloc 0x1%d000 512 stack=queried\n", k)
			}
			for k := range 2*kept + test.backed {
				fmt.Fprintf(&text, "alloc 0x2%d000 512 stack=%s\n", k, test.stack)
				if k >= test.backed {
					fmt.Fprintf(&text, "free_completed 0x2%d000 512 stack=%s\n", k, test.stack)
				}
			}
			text.WriteString("alloc 0x8000 64 stack=back\nfree_completed 0x8000 64 stack=back\n")
			for k := range kept {
				fmt.Fprintf(&text, "free_completed 0x1%d000 512 stack=back\n", k)
			}
			for k := range test.backed {
				fmt.Fprintf(&text, "free_completed 0x2%d000 512 stack=back\n", k)
			}
			j, _ := judged(t, own, text.String())
			wantCategory(t, j, trace.AllocationID(kept+test.backed), test.want)
		})
	}
}

// TestAFrozenModelBetweenTheTrainedOneAndTheLoss has no graph, and neither has what is
// computed of its results.
func TestAFrozenModelBetweenTheTrainedOneAndTheLoss(t *testing.T) {
	var text strings.Builder
	text.WriteString("alloc 0x100000 64 stack=forward\nalloc 0x200000 64 stack=computes\n")
	for range 8 {
		text.WriteString("alloc 0x300000 512 stack=evaluated\nfree_completed 0x300000 512 stack=evaluated\n")
	}
	text.WriteString("alloc 0x400000 512 stack=averaging\nalloc 0x8000 64 stack=back\nfree_completed 0x8000 64 stack=back\nfree_completed 0x100000 64 stack=back\n")
	j, _ := judged(t, own, text.String())
	for event, want := range map[int]trace.Category{0: trace.Activation, 2: trace.Inference, 18: trace.Inference} {
		wantCategory(t, j, trace.AllocationID(event), want)
	}
}
