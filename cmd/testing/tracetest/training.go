package tracetest

import (
	"fmt"
	"strings"
)

// Frames are frames and stacks of a training program, to begin a trace with.
const Frames = `
frame user "/home/me/train.py" 10 "main"
frame layer "/home/me/model.py" 20 "forward"
frame call "/env/site-packages/torch/nn/modules/module.py" 1700 "_call_impl"
frame adam "/env/site-packages/torch/optim/adam.py" 150 "_init_group"
frame wrap "/env/site-packages/torch/optim/optimizer.py" 500 "wrapper"
frame engine "??" 0 "torch::autograd::Engine::evaluate_function(std::shared_ptr<int>)"
frame node "??" 0 "torch::autograd::generated::MulBackward0::apply(int)"
frame malloc "??" 0 "c10::cuda::CUDACachingAllocator::Native::malloc(int)"
frame load "/env/site-packages/torch/utils/data/dataloader.py" 700 "__next__"
frame linear "/env/site-packages/torch/nn/modules/linear.py" 90 "__init__"
frame blas "??" 0 "at::cuda::getCurrentCUDABlasHandle()"
frame copy "??" 0 "at::native::_to_copy(at::Tensor const&)"
frame own "/home/me/layers.py" 30 "__init__"
frame check "/env/site-packages/torch/utils/checkpoint.py" 1000 "unpack_hook"
frame loss "/env/site-packages/torch/nn/functional.py" 3000 "cross_entropy"
stack act malloc layer call user
stack opt malloc adam wrap user
stack grad malloc node engine
stack data malloc load user
stack param malloc linear user
stack main malloc user
`

// Steps writes a trace of training steps, a thousand microseconds each, with [Frames].
// Body returns the events of one step.
func Steps(n int, body func(step int) string) string {
	var b strings.Builder
	b.WriteString(Frames)
	for s := range n {
		fmt.Fprintf(&b, "annotation \"Optimizer.step#Adam.step\" \"START\" device=0 @%d\n", s*1000+900)
		fmt.Fprintf(&b, "annotation \"Optimizer.step#Adam.step\" \"END\" device=0 @%d\n", s*1000+950)
	}
	b.WriteString("device 0\n")
	for s := range n {
		b.WriteString(body(s))
	}
	return b.String()
}
