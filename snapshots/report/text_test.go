package report

import (
	"fmt"
	"strings"
	"testing"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace/tracetest"
)

const mib = 1 << 20

// indexOf reads a trace in the text form and indexes its first device.
func indexOf(tb testing.TB, text string) *analysis.Index {
	tb.Helper()
	t := tracetest.Parse(tb, text)
	return analysis.NewIndex(t, &t.Devices[0])
}

// names are frames and stacks for traces in tests.
const names = `
frame user "/home/me/train.py" 10 "main"
frame layer "/home/me/model.py" 20 "forward"
frame call "/env/site-packages/torch/nn/modules/module.py" 1700 "_call_impl"
frame adam "/env/site-packages/torch/optim/adam.py" 150 "_init_group"
frame wrap "/env/site-packages/torch/optim/optimizer.py" 500 "wrapper"
frame malloc "??" 0 "c10::cuda::CUDACachingAllocator::Native::malloc(int)"
frame load "/env/site-packages/torch/utils/data/dataloader.py" 700 "__next__"
stack act malloc layer call user
stack opt malloc adam wrap user
stack data malloc load user
stack main malloc user
`

// steps writes a trace of training steps. body returns the events of one step.
func steps(n int, body func(step int) string) string {
	var b strings.Builder
	b.WriteString(names)
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
