package category_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/trace"
)

// names are frames and stacks for traces in tests, with C++ frames.
const names = `
frame malloc "??" 0 "c10::cuda::CUDACachingAllocator::Native::malloc(int)"
frame main "/home/me/train.py" 10 "main"
frame evaluate "/home/me/train.py" 60 "evaluate"
frame layer "/home/me/model.py" 20 "forward"
frame call "/env/site-packages/torch/nn/modules/module.py" 1700 "_call_impl"
frame engine "??" 0 "torch::autograd::Engine::evaluate_function(std::shared_ptr<int>)"
frame node "??" 0 "torch::autograd::generated::MulBackward0::apply(int)"
frame takes "??" 0 "torch::autograd::AccumulateGrad::apply(int)"
frame linear "/env/site-packages/torch/nn/modules/linear.py" 90 "__init__"
frame moved "/env/site-packages/torch/nn/modules/module.py" 957 "_apply"
frame zero "/env/site-packages/torch/optim/optimizer.py" 975 "zero_grad"
frame wrapper "/env/site-packages/torch/optim/optimizer.py" 500 "wrapper"
frame sgd "/env/site-packages/torch/optim/sgd.py" 300 "_single_tensor_sgd"
frame factored "/env/site-packages/transformers/optimization.py" 700 "step"
frame eightbit "/env/site-packages/bitsandbytes/optim/optimizer.py" 400 "init_state"
frame mine "/home/me/optimizer.py" 64 "step"
frame check "/env/site-packages/torch/utils/checkpoint.py" 1000 "unpack_hook"
frame nograd "/env/site-packages/torch/utils/_contextlib.py" 116 "decorate_context"
frame cache "/env/site-packages/transformers/cache_utils.py" 450 "update"
frame server "/env/site-packages/vllm/worker/cache_engine.py" 83 "_allocate_kv_cache"
frame casts "??" 0 "at::autocast::cached_cast(c10::ScalarType)"
frame reducer "??" 0 "c10d::Reducer::initialize_buckets(int)"
frame shard "/env/site-packages/torch/distributed/fsdp/_flat_param.py" 1400 "_alloc_padded_unsharded_flat_param"
frame paramdata "/env/site-packages/megatron/core/distributed/param_and_grad_buffer.py" 100 "__init__"
frame graddata "/env/site-packages/megatron/core/distributed/param_and_grad_buffer.py" 120 "__init__"
frame cxxstep "??" 0 "torch::optim::AdamW::step(std::function<at::Tensor ()>)"
frame cxxforward "??" 0 "torch::nn::LinearImpl::forward(at::Tensor const&)"
frame compiled "/tmp/torchinductor_me/ab/cabc.py" 40 "call"
frame compiledback "/env/site-packages/torch/_functorch/_aot_autograd/runtime_wrappers.py" 2000 "backward"
frame cachedmodel "/home/me/modeling_kvcache.py" 90 "forward"
frame ddp "/env/site-packages/torch/nn/parallel/distributed.py" 1200 "_ddp_init_helper"
frame program "??" 0 "train_loop(int)"
stack forward malloc layer call main
stack second malloc call layer call main
stack evaluated malloc layer call evaluate
stack back malloc node engine
stack taken malloc takes engine
stack weight malloc linear main
stack moving malloc moved main
stack zeroing malloc zero main
stack wrapped wrapper main
stack sgdstep malloc sgd wrapper main
stack factoredstep malloc factored wrapper main
stack eightstate malloc eightbit wrapper main
stack ownstep malloc mine wrapper main
stack again malloc layer call check node engine
stack sampled malloc layer call nograd main
stack cached malloc cache layer call nograd main
stack pages malloc server main
stack cast malloc casts layer call main
stack bucket malloc reducer main
stack gathered malloc shard layer call main
stack flatparam malloc paramdata main
stack flatgrad malloc graddata main
stack native malloc cxxstep program
stack nativeforward malloc cxxforward program
stack loop main
stack compiledforward malloc compiled layer call main
stack compiledbackward malloc compiled compiledback engine
stack named malloc cachedmodel call main
stack buckets malloc ddp main
frame collectives "/env/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py" 350 "foreach_reduce"
frame hook "/env/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py" 700 "post_backward"
frame whole "/env/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_param.py" 890 "init_all_gather_outputs"
frame functional "/env/site-packages/torch/distributed/_functional_collectives.py" 180 "all_reduce"
frame lazily "/env/site-packages/torch/distributed/_functional_collectives.py" 700 "__torch_dispatch__"
frame inputs "/env/site-packages/torch/distributed/utils.py" 90 "_recursive_to"
frame ready "/env/site-packages/torch/nn/parallel/distributed.py" 1600 "_pre_forward"
stack reduced malloc collectives hook engine
stack unsharded malloc whole collectives layer call main
stack rebuilt malloc ready layer call main
stack placed malloc inputs ready layer call main
stack collected malloc functional layer call main
stack added malloc lazily layer call main
stack inlined malloc engine shard hook
frame mul "??" 0 "at::_ops::mul_Tensor::call(at::Tensor const&)"
stack arithmetic malloc mul main
`

// judged returns the judge of a trace in the text form, after NAMES.
func judged(t *testing.T, names, text string) (*category.Judge, *trace.Lifetimes) {
	t.Helper()
	tr := tracetest.Parse(t, names+"\ndevice 0\n"+text)
	d := &tr.Devices[0]
	life := trace.NewLifetimes()
	life.Advance(d.Events)
	life.Finish(&d.Final)
	j := category.NewJudge()
	j.Advance(tr.Tables, d.Events, life)
	return j, life
}

// TestCategoryOfTheFirstEvent judges what event 0 makes by what comes after.
func TestCategoryOfTheFirstEvent(t *testing.T) {
	const (
		step = "alloc 0x9000 64 stack=sgdstep\nfree_completed 0x9000 64 stack=sgdstep\n"
		call = "alloc 0x7000 64 stack=forward\n"
		back = "alloc 0x8000 64 stack=back\nfree_completed 0x8000 64 stack=back\n"
	)
	tests := map[string]struct {
		events string
		want   trace.Category
	}{
		"what backward makes and frees is its scratch":           {"alloc 0x1000 512 stack=back\nfree_completed 0x1000 512 stack=back\n" + step, trace.BackwardTemporary},
		"what outlives backward is a gradient":                   {"alloc 0x1000 512 stack=back\n" + back + step + "free_completed 0x1000 512 stack=loop\n", trace.Gradient},
		"what zero_grad frees is a gradient":                     {"alloc 0x1000 512 stack=back\n" + back + "free_completed 0x1000 512 stack=zeroing\n", trace.Gradient},
		"what is accumulated is a gradient":                      {"alloc 0x1000 512 stack=taken\n", trace.Gradient},
		"what ranks reduce and backward frees is communication":  {"alloc 0x1000 512 stack=reduced\nfree_completed 0x1000 512 stack=reduced\n" + back + step, trace.Communication},
		"what ranks reduce and backward leaves is a gradient":    {"alloc 0x1000 512 stack=reduced\n" + back + step + "free_completed 0x1000 512 stack=loop\n", trace.Gradient},
		"a collective's result that forward frees":               {"alloc 0x1000 512 stack=collected\nfree_completed 0x1000 512 stack=forward\nalloc 0x2000 512 stack=forward\n" + back, trace.Communication},
		"a collective's result that a graph keeps":               {"alloc 0x1000 512 stack=collected\nalloc 0x2000 512 stack=forward\n" + back + "free_completed 0x1000 512 stack=back\n", trace.Activation},
		"a collective's result with which forward begins":        {"alloc 0x1000 512 stack=collected\nalloc 0x2000 512 stack=forward\n" + back + "free_completed 0x2000 512 stack=back\nfree_completed 0x1000 512 stack=forward\n", trace.Activation},
		"an operation on a collective's result":                  {"alloc 0x1000 512 stack=added\nalloc 0x2000 512 stack=forward\nfree_completed 0x1000 512 stack=forward\n" + back + "free_completed 0x2000 512 stack=back\n", trace.Activation},
		"what a gathered weight is copied to":                    {"alloc 0x1000 512 stack=unsharded\n" + back, trace.GatheredParameter},
		"a gathering that the engine seems to be within":         {"alloc 0x1000 512 stack=inlined\nfree_completed 0x1000 512 stack=back\n" + back, trace.GatheredParameter},
		"a bucket beside gradients":                              {"alloc 0x1000 512 stack=bucket\nalloc 0x5000 512 stack=moving\n" + call + "alloc 0x3000 512 stack=back\n" + back + step, trace.Communication},
		"a bucket that backward leaves no gradient beside":       {"alloc 0x1000 512 stack=bucket\nalloc 0x5000 512 stack=moving\n" + call + back + step, trace.Gradient},
		"a bucket in a backward pass that does not end":          {"alloc 0x1000 512 stack=bucket\nalloc 0x5000 512 stack=moving\n" + call + back, trace.Communication},
		"a bucket of a history that begins late":                 {"alloc 0x1000 512 stack=bucket\n" + call + back + step, trace.Communication},
		"buckets made anew before a forward pass":                {"alloc 0x1000 512 stack=rebuilt\n", trace.Communication},
		"a batch that DistributedDataParallel moves":             {"alloc 0x1000 512 stack=placed\n", trace.Input},
		"what forward makes and backward frees is an activation": {"alloc 0x1000 512 stack=forward\n" + back + "free_completed 0x1000 512 stack=back\n", trace.Activation},
		"what forward frees is an activation beside one that backward frees": {
			"alloc 0x1000 512 stack=forward\nalloc 0x2000 512 stack=forward\nfree_completed 0x1000 512 stack=forward\n" +
				"alloc 0x1000 512 stack=forward\nfree_completed 0x1000 512 stack=forward\n" +
				"alloc 0x1000 512 stack=forward\nfree_completed 0x1000 512 stack=forward\n" +
				back + "free_completed 0x2000 512 stack=back\n", trace.Activation,
		},
		"an evaluation in a training run keeps nothing": {
			"alloc 0x1000 512 stack=evaluated\nalloc 0x3000 512 stack=evaluated\nfree_completed 0x1000 512 stack=evaluated\n" +
				"free_completed 0x3000 512 stack=evaluated\nalloc 0x2000 512 stack=forward\n" + back + "free_completed 0x2000 512 stack=back\n", trace.Inference,
		},
		"arithmetic without a module, of which a name holds each result, is no graph": {
			"alloc 0x1000 512 stack=arithmetic\nalloc 0x2000 512 stack=arithmetic\nalloc 0x3000 512 stack=arithmetic\nalloc 0x4000 512 stack=arithmetic\n", trace.OtherCategory,
		},
		"forward run again in backward makes activations":            {"alloc 0x1000 512 stack=again\nfree_completed 0x1000 512 stack=back\n", trace.Activation},
		"forward under no_grad":                                      {"alloc 0x1000 512 stack=sampled\nfree_completed 0x1000 512 stack=sampled\n", trace.Inference},
		"a cache of keys and values under no_grad":                   {"alloc 0x1000 512 stack=cached\n", trace.KVCache},
		"a server's pages":                                           {"alloc 0x1000 512 stack=pages\n", trace.KVCache},
		"momentum of SGD outlives its step":                          {"alloc 0x1000 512 stack=sgdstep\nalloc 0x2000 512 stack=forward\n", trace.Optimizer},
		"a library's factored optimizer":                             {"alloc 0x1000 512 stack=factoredstep\nalloc 0x2000 512 stack=forward\n", trace.Optimizer},
		"eight-bit state":                                            {"alloc 0x1000 512 stack=eightstate\n", trace.Optimizer},
		"what a step makes and frees is the optimizer's":             {"alloc 0x1000 512 stack=sgdstep\nfree_completed 0x1000 512 stack=sgdstep\nalloc 0x2000 512 stack=forward\n", trace.Optimizer},
		"weights that a layer gathers":                               {"alloc 0x1000 512 stack=gathered\nfree_completed 0x1000 512 stack=forward\n", trace.GatheredParameter},
		"a flat buffer of parameters, where a later line makes more": {"alloc 0x1000 512 stack=flatparam\nalloc 0x2000 1024 stack=flatgrad\n", trace.Parameter},
		"a flat buffer of gradients, made by the later line":         {"alloc 0x1000 1024 stack=flatgrad\nalloc 0x2000 512 stack=flatparam\n", trace.Gradient},
		"state of an optimizer in C++":                               {"alloc 0x1000 512 stack=native\nalloc 0x2000 512 stack=nativeforward\n", trace.Optimizer},
		"forward in C++":                                             {"alloc 0x1000 512 stack=nativeforward\n" + back + "free_completed 0x1000 512 stack=back\n", trace.Activation},
		"generated code of a backward pass":                          {"alloc 0x1000 512 stack=compiledbackward\nfree_completed 0x1000 512 stack=compiledbackward\n", trace.BackwardTemporary},
		"generated code of a forward pass":                           {"alloc 0x1000 512 stack=compiledforward\n" + back + "free_completed 0x1000 512 stack=back\n", trace.Activation},
		"forward in a file named after a cache": {
			"alloc 0x1000 512 stack=named\n" + back + "free_completed 0x1000 512 stack=back\n", trace.Activation,
		},
		"buckets of gradients": {"alloc 0x1000 512 stack=buckets\n", trace.Communication},
		"a module moved":       {"alloc 0x1000 512 stack=moving\n", trace.Parameter},
		"a workspace by its size": {
			"alloc 0x100000 8519680 stack=forward\nalloc 0x1000 512 stack=forward\n" + back + "free_completed 0x1000 512 stack=back\n" + step, trace.Workspace,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j, _ := judged(t, names, test.events)
			wantCategory(t, j, 0, test.want)
		})
	}
}

// TestAGraphThatNoBackwardPassUses has a validation pass of eight layers before the next step's forward pass, and
// the forward pass of a step.
func TestAGraphThatNoBackwardPassUses(t *testing.T) {
	const back = "alloc 0x8000 64 stack=back\nfree_completed 0x8000 64 stack=back\n"
	for gone, want := range map[bool]bool{true: true, false: false} {
		var made, freed strings.Builder
		for layer := range 8 {
			fmt.Fprintf(&made, "alloc 0x%d0000 512 stack=evaluated\nalloc 0x%d8000 512 stack=other\n", layer+1, layer+1)
			fmt.Fprintf(&freed, "free_completed 0x%d0000 512 stack=loop\nfree_completed 0x%d8000 512 stack=loop\n", layer+1, layer+1)
		}
		text := made.String() + "alloc 0x1000 512 stack=forward\n" + back + "free_completed 0x1000 512 stack=back\n" + freed.String()
		if gone {
			text = made.String() + freed.String() + "alloc 0x1000 512 stack=forward\n" + back + "free_completed 0x1000 512 stack=back\n"
		}
		j, _ := judged(t, names+"frame later \"/home/me/model.py\" 21 \"forward\"\nstack other malloc later call evaluate\n", text)
		if got, rule := j.Of(0, 0); got != trace.Activation || rule.Unused() != want {
			t.Errorf("gone before backward: %v, got %s by %q", gone, got, rule)
		}
	}
}

func wantCategory(t *testing.T, j *category.Judge, id trace.AllocationID, want trace.Category) {
	t.Helper()
	if got, rule := j.Of(id, 0); got != want {
		t.Errorf("event %d: got %s by %q, want %s", id, got, rule, want)
	}
}

// TestAParameterReplacedInTheStepStaysOne is about p.data = p.data - …, where the new
// tensor is born in the step, as the optimizer's moments are.
func TestAParameterReplacedInTheStepStaysOne(t *testing.T) {
	j, _ := judged(t, names, `
alloc 0x1000 512 stack=weight
alloc 0x7000 512 stack=sgdstep
alloc 0x2000 512 stack=ownstep
free_completed 0x1000 512 stack=ownstep
alloc 0x3000 64 stack=forward
alloc 0x4000 512 stack=ownstep
free_completed 0x2000 512 stack=ownstep
alloc 0x5000 64 stack=forward
`)
	for id, want := range map[trace.AllocationID]trace.Category{1: trace.Optimizer, 2: trace.Parameter, 5: trace.Parameter} {
		wantCategory(t, j, id, want)
	}
}

// pythonNames are stacks of a file that has Python frames only.
const pythonNames = `
frame main "/home/me/train.py" 10 "main"
frame loss "/home/me/train.py" 30 "own_loss"
frame layer "/home/me/model.py" 20 "forward"
frame call "/env/site-packages/torch/nn/modules/module.py" 1700 "_call_impl"
stack forward layer call main
frame kernel "/env/site-packages/torch/_native/kernels.py" 111 "outer_product"
frame function "/env/site-packages/torch/autograd/function.py" 598 "apply"
frame generated "<eval_with_key>.5" 20 "forward"
stack lost loss main
stack threaded kernel
stack applied generated function
stack empty
stack loop main
`

// TestWithPythonFramesOnlyAnEmptyStackIsTheEngine also takes a loss outside of any
// module for part of the graph. What is made before it, nobody knows for what, is no batch.
func TestWithPythonFramesOnlyAnEmptyStackIsTheEngine(t *testing.T) {
	j, _ := judged(t, pythonNames, `
alloc 0x6000 80 stack=loop
alloc 0x1000 512 stack=forward
alloc 0x2000 512 stack=lost
alloc 0x3000 512 stack=empty
free_completed 0x3000 512 stack=empty
free_completed 0x1000 512 stack=empty
free_completed 0x2000 512 stack=lost
free_completed 0x6000 80 stack=loop
alloc 0x6000 80 stack=loop
alloc 0x1000 512 stack=forward
`)
	want := map[trace.AllocationID]trace.Category{
		0: trace.OtherCategory, 1: trace.Activation, 2: trace.Activation, 3: trace.BackwardTemporary, 9: trace.Activation,
	}
	for id, want := range want {
		wantCategory(t, j, id, want)
	}
}

// TestWithPythonFramesOnlyTheEnginesThreadHasNoFrameOfTheProgram is about kernels and generated code in Python.
func TestWithPythonFramesOnlyTheEnginesThreadHasNoFrameOfTheProgram(t *testing.T) {
	for _, stack := range []string{"threaded", "applied"} {
		j, _ := judged(t, pythonNames, "alloc 0x1000 512 stack=forward\nalloc 0x2000 64 stack="+stack+"\nfree_completed 0x2000 64 stack=empty\n"+
			"free_completed 0x1000 512 stack=empty\nalloc 0x1000 512 stack=forward\n")
		wantCategory(t, j, 1, trace.BackwardTemporary)
	}
}
