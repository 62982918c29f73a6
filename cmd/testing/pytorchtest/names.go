package pytorchtest

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// frameTexts are lines as PyTorch's Python and C++ unwinders give them.
var frameTexts = []struct {
	file string
	line int32
	name string
}{
	{"/usr/lib/python3/site-packages/torch/nn/modules/linear.py", 125, "forward"},
	{"/usr/lib/python3/site-packages/torch/nn/modules/module.py", 1750, "_call_impl"},
	{"/usr/lib/python3/site-packages/torch/optim/adamw.py", 163, "_init_group"},
	{"??", 0, "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)"},
	{"", 0, "at::empty_cuda(c10::ArrayRef<long>, c10::ScalarType)"},
	{"CUDACachingAllocator.cpp", 0, "c10::cuda::CUDACachingAllocator::Native::malloc(int, unsigned long)"},
	{"train.py", 17, "<module>"},
	{"train.py", 42, "train_step"},
	{"модель.py", 7, "forward_ключ"},
	{"eval \"quoted\".py", -1, "tab\tand\\backslash"},
}

// makeStacks gives the program a dozen stacks, the absent and the empty one
// among them, and one frame with notes of torch.fx.
func (p *program) makeStacks() {
	var frames []trace.FrameID
	for _, f := range frameTexts {
		frames = append(frames, p.in.Frame(trace.Frame{
			File: p.in.String(f.file), Line: f.line, Name: p.in.String(f.name),
		}))
	}
	p.in.SetFX(frames[0], trace.FX{
		Op: p.in.String("call_function"), NodeName: p.in.String("linear_1"), Target: p.in.String("torch.nn.functional.linear"),
		OriginalTrace: p.in.String("File \"train.py\", line 42, in train_step"), Info: p.in.String("{}"),
	})
	p.stacks = []trace.StackID{0, trace.EmptyStack}
	for range 10 {
		stack := make([]trace.FrameID, 1+p.random.IntN(12))
		for i := range stack {
			stack[i] = frames[p.random.IntN(len(frames))]
		}
		p.stacks = append(p.stacks, p.in.Stack(stack))
	}
	p.lines = p.in.List([]trace.StringID{
		p.in.String("train.py:42:train_step"), p.in.String("linear.py:125:forward"),
	})
}

// Settings returns the allocator's settings as PyTorch writes them by default.
func Settings(expandable bool) []trace.Setting {
	buckets := make([]trace.Setting, 0, 16)
	for i := range 16 {
		buckets = append(buckets, trace.Setting{Key: fmt.Sprint(1 << i), Value: int64(0)})
	}
	conf := ""
	if expandable {
		conf = "expandable_segments:True"
	}
	return []trace.Setting{
		{Key: "PYTORCH_CUDA_ALLOC_CONF", Value: conf},
		{Key: "max_split_size", Value: int64(-1)},
		{Key: "garbage_collection_threshold", Value: 0.0},
		{Key: "expandable_segments", Value: expandable},
		{Key: "pinned_num_register_threads", Value: int64(1)},
		{Key: "release_lock_on_cudamalloc", Value: false},
		{Key: "pinned_use_cuda_host_register", Value: false},
		{Key: "graph_capture_record_stream_reuse", Value: false},
		{Key: "roundup_power2_divisions", Value: buckets},
	}
}
