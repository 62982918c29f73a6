package pytorchtest

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// Sizes of the small training run, in bytes.
const (
	trainingCapacity = 256 << 20
	trainingLayers   = 3
	hidden           = 1 << 20 // one activation of a layer
	vocabulary       = 9 << 20 // the logits
)

// TinyTraining returns the trace of a training run as PyTorch 2.10 records it:
// some memory from before the recording, the making of a model, three steps of
// forward, backward and AdamW, then a batch that is too large and its
// out-of-memory error. It is small, always the same, and has stacks of all the
// kinds that distinguish memory.
func TinyTraining() *trace.Trace {
	r := newTraining()
	r.allocator.recorder.stack = trace.EmptyStack
	r.get(6 << 20)
	unrecorded := r.allocator.recorder.log.Len()
	r.construct()
	for step := 1; step <= 3; step++ {
		r.step(step, 1)
	}
	r.step(4, 8)
	return r.trace(unrecorded)
}

func newTraining() *training {
	in := trace.NewInterner()
	return &training{in: in, allocator: &Allocator{
		capacity: trainingCapacity,
		recorder: &recorder{
			in: in, now: clockStart,
			note: trace.Note{CompileContext: in.String("N/A"), UserMetadata: in.String("")},
		},
	}}
}

// trace returns what was recorded after the first events.
func (r *training) trace(unrecorded int) *trace.Trace {
	events := r.allocator.recorder.log.Events()
	t := &trace.Trace{
		Info: trace.Info{Kind: "snapshot", PickleProtocol: -1, TraceLists: 1},
		Devices: []trace.Device{{
			Events: events.Slice(unrecorded, events.Len()), Final: r.allocator.final(),
		}},
		Settings: Settings(false), Annotations: r.annotations,
	}
	tables := r.in.View()
	t.Tables = &tables
	return Layout{Version: 210}.Strip(t)
}

type training struct {
	in          *trace.Interner
	allocator   *Allocator
	annotations []trace.Annotation
	weights     []int64 // sizes of the parameters
	gradients   []*block
	moments     []*block
	failed      bool
}

// call is one line of a stack: file, line, function.
type call struct {
	file string
	line int32
	name string
}

const torch = "/usr/lib/python3.12/site-packages/torch/"

var (
	allocate  = call{"CUDACachingAllocator.cpp", 0, "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)"}
	empty     = call{"??", 0, "at::detail::empty_cuda(c10::ArrayRef<long>, c10::ScalarType, std::optional<c10::Device>)"}
	callModel = call{torch + "nn/modules/module.py", 1786, "_call_impl"}
	main      = call{"/home/user/train.py", 88, "<module>"}
	trainStep = call{"/home/user/train.py", 61, "train_step"}
)

// at sets where the program is, innermost line first, below the allocator's
// own frames.
func (r *training) at(calls ...call) {
	var frames []trace.FrameID
	for _, c := range append([]call{allocate, empty}, calls...) {
		frames = append(frames, r.in.Frame(trace.Frame{
			File: r.in.String(c.file), Line: c.line, Name: r.in.String(c.name),
		}))
	}
	r.allocator.recorder.stack = r.in.Stack(frames)
}

// get allocates, unless the device is already full.
func (r *training) get(size int64) *block {
	if r.failed {
		return nil
	}
	b := r.allocator.malloc(size, trace.Pool{}, 0)
	r.failed = b == nil
	return b
}

func (r *training) drop(blocks ...*block) {
	for _, b := range blocks {
		if b != nil {
			r.allocator.request(b, false)
		}
	}
}

func (r *training) mark(name, stage string) {
	r.allocator.recorder.now += 40
	r.annotations = append(r.annotations, trace.Annotation{
		Name: r.in.String(name), Stage: r.in.String(stage), Time: r.allocator.recorder.now,
	})
}

// construct makes the parameters: an embedding, and four matrices and two
// vectors a layer.
func (r *training) construct() {
	parameter := func(size int64, calls ...call) {
		r.at(append(calls, call{"/home/user/model.py", 30, "__init__"}, main)...)
		r.get(size)
		r.weights = append(r.weights, size)
	}
	parameter(4<<20, call{torch + "nn/modules/sparse.py", 167, "__init__"})
	for range trainingLayers {
		linear := call{torch + "nn/modules/linear.py", 112, "__init__"}
		for _, size := range []int64{3 << 20, 1 << 20, 2 << 20, 2 << 20} {
			parameter(size, linear)
		}
		norm := call{torch + "nn/modules/normalization.py", 215, "__init__"}
		parameter(4096, norm)
		parameter(4096, norm)
	}
}

// step is one iteration; batch is a factor on the batch's size.
func (r *training) step(number int, batch int64) {
	step := fmt.Sprintf("ProfilerStep#%d", number)
	r.mark(step, "START")
	r.at(call{torch + "utils/data/_utils/collate.py", 272, "default_collate"}, trainStep, main)
	input := r.get(64 << 10 * batch)
	saved, logits := r.forward(batch)
	if r.failed {
		r.drop(saved...)
		r.drop(input)
		return
	}
	r.backward(saved, logits)
	r.drop(input)
	r.optimize()
	r.mark(step, "END")
}

// forward returns the memory that backward needs, and the logits.
func (r *training) forward(batch int64) (saved []*block, logits *block) {
	model := []call{callModel, trainStep, main}
	for layer := range trainingLayers {
		forward := call{"/home/user/model.py", int32(50 + layer), "forward"}
		for _, c := range []call{
			{torch + "nn/modules/linear.py", 134, "forward"},
			{torch + "nn/functional.py", 2140, "softmax"},
			{torch + "nn/modules/linear.py", 134, "forward"},
			{torch + "nn/functional.py", 1737, "gelu"},
		} {
			r.at(append([]call{c, callModel, forward}, model...)...)
			saved = append(saved, r.get(hidden*batch))
		}
		r.at(append([]call{{torch + "nn/functional.py", 1425, "dropout"}, forward}, model...)...)
		r.drop(r.get(hidden * batch / 2))
	}
	r.at(append([]call{{torch + "nn/modules/linear.py", 134, "forward"}, {"/home/user/model.py", 70, "forward"}}, model...)...)
	logits = r.get(vocabulary * batch)
	r.at(call{torch + "nn/functional.py", 3458, "cross_entropy"}, trainStep, main)
	return append(saved, logits, r.get(vocabulary*batch)), logits
}

// backward frees the memory that forward saved, last first, and makes a gradient
// of every parameter.
func (r *training) backward(saved []*block, logits *block) {
	engine := []call{
		{"??", 0, "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)"},
		{"??", 0, "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)"},
	}
	r.at(engine...)
	flowing := r.get(logits.requested)
	for i := len(saved) - 1; i >= 0; i-- {
		r.at(engine...)
		next := r.get(hidden)
		r.drop(flowing, saved[i])
		flowing = next
	}
	for i := len(r.weights) - 1; i >= 0; i-- {
		r.at(append([]call{{"??", 0, "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)"}}, engine[1:]...)...)
		r.gradients = append(r.gradients, r.get(r.weights[i]))
	}
	r.drop(flowing)
}

// optimize is a step of AdamW, which makes its state the first time, and then
// frees the gradients.
func (r *training) optimize() {
	const name = "Optimizer.step#AdamW.step"
	step := []call{{torch + "optim/adamw.py", 232, "step"}, {torch + "optim/optimizer.py", 517, "wrapper"}, trainStep, main}
	r.mark(name, "START")
	first := len(r.moments) == 0
	for _, size := range r.weights {
		if first {
			r.at(append([]call{{torch + "optim/adamw.py", 175, "_init_group"}}, step...)...)
			r.moments = append(r.moments, r.get(size), r.get(size))
		}
		r.at(append([]call{{torch + "optim/adam.py", 600, "_multi_tensor_adam"}}, step...)...)
		r.drop(r.get(size))
	}
	r.mark(name, "END")
	r.mark("Optimizer.zero_grad#AdamW.zero_grad", "START")
	r.drop(r.gradients...)
	r.gradients = nil
	r.mark("Optimizer.zero_grad#AdamW.zero_grad", "END")
}
