package analysis

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestStacksThatStandTogetherHaveDifferentNames(t *testing.T) {
	const frames = `
frame main "/home/me/train.py" 10 "main"
frame forward "/home/me/model.py" 20 "forward"
frame first "/home/me/model.py" 5 "block"
frame second "/home/me/model.py" 6 "block"
frame linear "/env/site-packages/torch/nn/linear.py" 125 "forward"
frame adam "/env/site-packages/torch/optim/adam.py" 60 "step"
frame one "??" 0 "at::one"
frame two "??" 0 "at::two"
frame exp "??" 0 "at::_ops::exp::call(at::Tensor const&)"
frame div "??" 0 "at::_ops::div_Tensor::call(at::Tensor const&)"
frame gemm "engine/nn/linear.go" 37 "memtop/engine/nn.(*Linear).Forward"
frame up "engine/nn/gpt.go" 20 "memtop/engine/nn.(*Block).Forward"
frame down "engine/nn/gpt.go" 30 "memtop/engine/nn.(*Block).Forward"
frame glue "engine/nn/ctx.go" 51 "memtop/engine/nn.(*Ctx).Call"
`
	tests := map[string]struct {
		a, b         string // innermost first
		nameA, nameB string
	}{
		"different lines need nothing more": {"forward main", "main", "model.py:20 forward", "train.py:10 main"},
		"the caller tells them apart": {
			"forward first main", "forward second main",
			"model.py:20 forward < model.py:5 block", "model.py:20 forward < model.py:6 block",
		},
		"a farther caller tells them apart": {
			"forward main first", "forward main second",
			"model.py:20 forward < … < model.py:5 block", "model.py:20 forward < … < model.py:6 block",
		},
		"what was called tells them apart": {
			"linear main", "adam main", "train.py:10 main > linear.py:125 forward", "train.py:10 main > adam.py:60 step",
		},
		"the operators of one line": {"exp forward main", "div forward main", "model.py:20 forward > exp", "model.py:20 forward > div_Tensor"},
		"only frames that tell nothing differ": {
			"linear one main", "linear two main", "train.py:10 main > linear.py:125 forward", "train.py:10 main > linear.py:125 forward #2",
		},
		"layers of our engine, without what is called around each": {
			"gemm glue up", "gemm glue down",
			"linear.go:37 nn.(*Linear).Forward < gpt.go:20 nn.(*Block).Forward",
			"linear.go:37 nn.(*Linear).Forward < gpt.go:30 nn.(*Block).Forward",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, strings.Join([]string{
				frames, "stack a " + test.a, "stack b " + test.b, "device 0", "alloc 0x1000 512 stack=a", "alloc 0x2000 512 stack=b", "",
			}, "\n"))
			stacks := make([]trace.StackID, 2)
			for i := range stacks {
				stacks[i] = x.Lifetimes().Allocation(trace.AllocationID(i)).Stack
			}
			equal.Values(t, "names differ", []string{test.nameA, test.nameB}, x.StackNames(stacks))
		})
	}
}

func TestAStackHasOneNameHoweverOftenItStandsInAList(t *testing.T) {
	x := indexOf(t, tracetest.Frames+"device 0\nalloc 0x1000 512 stack=act\nalloc 0x2000 512 stack=main\n")
	act, user := x.Lifetimes().Allocation(0).Stack, x.Lifetimes().Allocation(1).Stack
	want := map[trace.StackID]string{0: NoStack, trace.EmptyStack: NoStack, act: "model.py:20 forward", user: "train.py:10 main"}
	equal.Values(t, "names differ", want, NamesOf(x, []trace.StackID{user, act, user, 0, trace.EmptyStack, act}))
}
