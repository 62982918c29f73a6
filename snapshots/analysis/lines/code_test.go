package lines_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// stacksOf returns the stacks of the allocations of a trace, by its event, and
// whose code their frames are.
func stacksOf(tb testing.TB, text string) (*lines.Code, []trace.StackID) {
	tb.Helper()
	t := tracetest.Parse(tb, text)
	code := new(lines.Code)
	code.Read(t.Tables)
	events := t.Devices[0].Events
	stacks := make([]trace.StackID, events.Len())
	for i := range stacks {
		stacks[i] = events.At(i).Stack
	}
	return code, stacks
}

func TestMemoryIsFromTheInnermostLineOfTheProgram(t *testing.T) {
	tests := map[string]struct{ frames, want string }{
		"a virtual environment inside of the project": {`
frame a "/home/me/project/.venv/lib/python3.12/site-packages/torch/nn/functional.py" 100 "relu"
frame b "/home/me/project/model.py" 7 "forward"
frame c "/home/me/project/train.py" 3 "main"`, "model.py:7 forward"},
		"the standard library of Windows": {`
frame a "C:\\Python\\Lib\\site-packages\\torch\\_tensor.py" 90 "__deepcopy__"
frame b "C:\\Python\\Lib\\copy.py" 153 "deepcopy"
frame c "C:\\work\\train.py" 3 "main"`, "train.py:3 main"},
		"the standard library of Linux": {`
frame a "/usr/lib/python3.10/copy.py" 153 "deepcopy"
frame b "/usr/lib/python3.10/contextlib.py" 79 "inner"
frame c "/work/train.py" 3 "main"`, "train.py:3 main"},
		"PyTorch built from source": {`
frame a "/opt/pytorch/torch/nn/modules/linear.py" 125 "forward"
frame b "/opt/pytorch/torch/utils/_contextlib.py" 116 "decorate_context"
frame c "/work/train.py" 3 "main"`, "train.py:3 main"},
		"what a library puts around its functions": {`
frame a "/x/site-packages/transformers/utils/deprecation.py" 173 "wrapped_func"
frame b "/x/site-packages/transformers/models/llama/modeling_llama.py" 90 "forward"
frame c "/x/site-packages/trl/trainer/sft_trainer.py" 7 "train"`, "modeling_llama.py:90 forward"},
		"a project in a folder named torch": {`
frame a "/opt/conda/lib/python3.11/site-packages/torch/nn/functional.py" 100 "relu"
frame b "/home/me/torch/model.py" 7 "forward"
frame c "/home/me/torch/train.py" 3 "main"`, "model.py:7 forward"},
		"a notebook": {`
frame a "/opt/conda/lib/python3.11/site-packages/torch/nn/functional.py" 100 "relu"
frame b "/tmp/ipykernel_77/1234.py" 7 "<module>"
frame c "/opt/conda/lib/python3.11/site-packages/IPython/core/interactiveshell.py" 3 "run_code"`, "1234.py:7 <module>"},
		"code that torch.fx made": {`
frame a "<eval_with_key>.7" 12 "forward"
frame b "/tmp/torchinductor_me/ab/cab.py" 12 "call"
frame c "/work/model.py" 7 "forward"`, "model.py:7 forward"},
		"functions named like the system's": {`
frame a "??" 0 "PyEval_EvalFrame"
frame b "/work/Registers/PyModel.py" 7 "clone"
frame c "/work/train.py" 3 "main"`, "PyModel.py:7 clone"},
		"an installed package, where no line is the program's": {`
frame a "/opt/lib/python3.11/site-packages/torch/utils/_device.py" 77 "__torch_function__"
frame b "/opt/lib/python3.11/site-packages/vllm/linear.py" 140 "create_weights"
frame c "/opt/lib/python3.11/site-packages/vllm/engine.py" 4 "run"`, "linear.py:140 create_weights"},
		"a library that is copied into the program's tree": {`
frame a "/home/me/project/lib/transformers/models/gpt2/modeling_gpt2.py" 210 "forward"
frame b "/home/me/project/third_party/loop/run.py" 30 "step"
frame c "/home/me/project/train.py" 4 "main"`, "train.py:4 main"},
		"a folder of the program's that has a library's name": {`
frame a "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py" 125 "forward"
frame b "/home/me/project/transformers/encoder.py" 30 "forward"
frame c "/home/me/project/train.py" 4 "main"`, "encoder.py:30 forward"},
		"copies of libraries alone": {`
frame a "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py" 125 "forward"
frame b "/home/me/transformers/src/transformers/models/gpt2/modeling_gpt2.py" 210 "forward"
frame c "/home/me/transformers/src/transformers/trainer.py" 4 "train"`, "modeling_gpt2.py:210 forward"},
		"PyTorch alone": {`
frame a "/opt/lib/python3.11/site-packages/torch/utils/_foreach_utils.py" 5 "step"
frame b "/usr/lib/python3.11/threading.py" 70 "run"
frame c "??" 0 "start_thread"`, "_foreach_utils.py:5 step"},
		"memtop's own agent": {`
frame a "/opt/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py" 9 "barrier"
frame b "/home/me/.cache/memtop/agent-0123456789abcdef/memtop/rehearsal/ranks.py" 75 "waited"
frame c "/home/me/project/train.py" 4 "main"`, "train.py:4 main"},
		"C++ alone: the node of backward": {`
frame a "??" 0 "at::native::mul(at::Tensor const&)"
frame b "??" 0 "torch::autograd::generated::MulBackward0::apply(int)"
frame c "??" 0 "torch::autograd::Engine::thread_main()"`, "MulBackward0::apply"},
		"C++ alone: what was asked of ROCm's allocator": {`
frame a "??" 0 "c10::hip::HIPCachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)"
frame b "??" 0 "at::native::mul(at::Tensor const&)"
frame c "??" 0 "start_thread"`, "native::mul"},
		"Go: a model of the program's": {`
frame a "/src/engine/nn/linear.go" 88 "memtop/engine/nn.(*Linear).Forward"
frame b "/src/engine/nn/ctx.go" 88 "memtop/engine/nn.(*Ctx).Call"
frame c "/home/me/model.go" 7 "main.(*model).Forward"`, "model.go:7 main.(*model).Forward"},
		"Go: a package of the program's": {`
frame a "/src/engine/nn/linear.go" 88 "memtop/engine/nn.(*Linear).Forward"
frame b "/home/me/go/pkg/mod/example.com/layers@v1.0.0/layer.go" 9 "example.com/layers.(*Layer).Forward"
frame c "/home/me/model/model.go" 7 "example.com/me/model.(*Model).Forward"`, "model.go:7 model.(*Model).Forward"},
		"Go: what the standard library calls": {`
frame a "/root/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.26.0.linux-amd64/src/slices/sort.go" 9 "slices.SortFunc"
frame b "sync/once.go" 9 "sync.(*Once).Do"
frame c "/home/me/mine/model.go" 7 "mine.(*Model).Forward"`, "model.go:7 mine.(*Model).Forward"},
		"Go: memtrain's own main is none": {`
frame a "/src/engine/nn/linear.go" 88 "memtop/engine/nn.(*Linear).Forward"
frame b "/src/cmd/memtrain/program/session.go" 5 "memtop/cmd/memtrain/program.(*session).openModel"
frame c "memtop/cmd/memtrain/main.go" 20 "main.main"`, "linear.go:88 nn.(*Linear).Forward"},
		"Go: what runs memtrain's commands and its tests is none": {`
frame a "/src/engine/nn/linear.go" 88 "memtop/engine/nn.(*Linear).Forward"
frame b "github.com/spf13/cobra@v1.10.2/command.go" 5 "github.com/spf13/cobra.(*Command).execute"
frame c "_testmain.go" 126 "main.main"`, "linear.go:88 nn.(*Linear).Forward"},
		"Go: what was called": {`
frame a "/src/engine/tensor/pool.go" 9 "memtop/engine/tensor.(*Pool).New"
frame b "/src/engine/nn/linear.go" 88 "memtop/engine/nn.(*Linear).Forward"
frame c "/usr/lib/go/src/runtime/proc.go" 88 "runtime.main"`, "pool.go:9 tensor.(*Pool).New"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, stacks := stacksOf(t, test.frames+"\nstack s a b c\ndevice 0\nalloc 0x1000 512 stack=s\n")
			if got := code.FrameLabel(code.Line(stacks[0])); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestATableCountsEachStackOnceForEveryRowThatItPasses(t *testing.T) {
	code, stacks := stacksOf(t, `
frame relu "/env/site-packages/torch/nn/functional.py" 5 "relu"
frame deep "/home/me/blocks/model.py" 20 "forward"
frame again "/home/me/blocks/model.py" 30 "forward"
frame other "/home/me/heads/model.py" 20 "forward"
frame main "/home/me/train.py" 10 "main"
stack recursive relu deep again deep main
stack head other main
stack step main
device 0
alloc 0x1000 100 stack=recursive
alloc 0x2000 20 stack=head
alloc 0x3000 3 stack=step
`)
	holdings := []lines.Holding{{Stack: stacks[0], Bytes: 100, Count: 1}, {Stack: stacks[1], Bytes: 20, Count: 2}, {Stack: stacks[2], Bytes: 3, Count: 3}, {Bytes: 1000, Count: 4}}
	type row struct {
		Name                  string
		Self, Total           int64
		SelfCount, TotalCount int
	}
	held := row{lines.HeldBefore, 1000, 1000, 4, 4}
	tests := map[string]struct {
		by        lines.By
		libraries bool
		want      []row
	}{
		"by line": {lines.Line, false, []row{
			held,
			{"blocks/model.py:20 forward", 100, 100, 1, 1},
			{"heads/model.py:20 forward", 20, 20, 2, 2},
			{"train.py:10 main", 3, 123, 3, 6},
			{"blocks/model.py:30 forward", 0, 100, 0, 1},
		}},
		"by function": {lines.Function, false, []row{
			held, {"blocks/model.py forward", 100, 100, 1, 1}, {"heads/model.py forward", 20, 20, 2, 2}, {"train.py main", 3, 123, 3, 6},
		}},
		"by file": {lines.File, false, []row{
			held, {"blocks/model.py", 100, 100, 1, 1}, {"heads/model.py", 20, 20, 2, 2}, {"train.py", 3, 123, 3, 6},
		}},
		"by module": {lines.Module, false, []row{
			held, {"blocks", 100, 100, 1, 1}, {"heads", 20, 20, 2, 2}, {"me", 3, 123, 3, 6},
		}},
		"by module of all": {lines.Module, true, []row{
			held, {"torch.nn", 100, 100, 1, 1}, {"heads", 20, 20, 2, 2}, {"me", 3, 123, 3, 6}, {"blocks", 0, 100, 0, 1},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			table := code.Table(holdings, test.by, test.libraries)
			var got []row
			for _, r := range table.Rows {
				passing := int64(0)
				for _, h := range holdings {
					if r.Frame == 0 && h.Stack == 0 || r.Frame != 0 && code.Passing(r.Frame, test.by, test.libraries)(h.Stack) {
						passing += h.Bytes
					}
				}
				if passing != r.Total {
					t.Errorf("%s: the stacks that pass it hold %d, want %d", r.Name, passing, r.Total)
				}
				got = append(got, row{r.Name, r.Self, r.Total, r.SelfCount, r.TotalCount})
			}
			if diff := cmp.Diff(test.want, got); diff != "" || table.Bytes != 1123 || table.Count != 10 {
				t.Errorf("%d bytes in %d; -want +got:\n%s", table.Bytes, table.Count, diff)
			}
		})
	}
}

func TestPathsKeepTheFoldersInWhichTheyDiffer(t *testing.T) {
	got := lines.Shorten([]string{"/a/x/model.py", "/b/x/model.py", "/b/y/model.py", "/b/y/train.py", "", "/b/y/train.py"})
	want := map[string]string{
		"/a/x/model.py": "a/x/model.py", "/b/x/model.py": "b/x/model.py", "/b/y/model.py": "y/model.py", "/b/y/train.py": "train.py", "": "",
	}
	equal.Values(t, "the result", want, got)
}
