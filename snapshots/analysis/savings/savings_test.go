package savings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

const mib = 1 << 20

// frames are of a program and what it calls; each stack is named for what it makes.
const frames = `
frame train "/home/me/train.py" 10 "main"
frame attend "/home/me/model.py" 30 "scaled_dot_product_attention"
frame softmax "/home/me/functions.py" 6 "softmax"
frame log "/home/me/functions.py" 13 "log_softmax"
frame linear "/home/me/model.py" 39 "forward"
frame relu "/env/site-packages/torch/nn/functional.py" 1700 "relu"
frame cast "??" 0 "at::autocast::cached_cast(c10::ScalarType, at::Tensor const&)"
frame again "/env/site-packages/torch/utils/checkpoint.py" 300 "forward"
frame eight "/env/site-packages/bitsandbytes/optim/adamw.py" 50 "step"
frame adam "/env/site-packages/torch/optim/adam.py" 150 "_init_group"
frame buffer "/env/site-packages/megatron/param_and_grad_buffer.py" 592 "__init__"
frame node "??" 0 "torch::autograd::Engine::evaluate_function(std::shared_ptr<int>)"
frame vllm "/env/site-packages/vllm/worker/cache_engine.py" 90 "_allocate_kv_cache"
frame blas "??" 0 "at::cuda::getCurrentCUDABlasHandle()"
stack probabilities softmax attend train
stack scores attend train
stack logits log train
stack hidden linear train
stack positive relu linear train
stack copy cast linear train
stack recomputed linear again train
stack state8 eight train
stack backward node
stack flat buffer train
stack served vllm train
stack workspace blas linear train
stack state train
stack passing train
stack stepped adam train
frame multi "/env/site-packages/torch/optim/adamw.py" 700 "_multi_tensor_adamw"
frame ddp "/env/site-packages/torch/nn/parallel/distributed.py" 1200 "_ddp_init_helper"
frame mixes "/home/me/mix.py" 12 "mix"
frame bmm "??" 0 "at::_ops::bmm::call(at::Tensor const&, at::Tensor const&)"
frame probable "??" 0 "at::_ops::_softmax::call(at::Tensor const&, long, bool)"
stack temporary multi train
stack buckets ddp train
frame layer "/home/me/mix.py" 30 "mix"
stack products bmm mixes layer train
stack mixed probable mixes layer train
stack hidden layer train
frame wraps "??" 0 "at::autocast::WrapFunction_<(at::autocast::CastPolicy)0, (c10::DeviceType)1>::call(at::Tensor const&)"
stack wrapped wraps linear train
`

// part is some blocks, and how many of them are old.
type part struct {
	category trace.Category
	count    int
	mebibyte int64
	stack    string
	old      int
}

func sceneOf(t *testing.T, parts []part) *savings.Scene {
	t.Helper()
	var text strings.Builder
	text.WriteString(used(parts) + "device 0\n")
	for i, p := range parts {
		fmt.Fprintf(&text, "alloc 0x%x 512 stack=%s\n", (i+1)<<12, p.stack)
	}
	tr := tracetest.Parse(t, text.String())
	s := &savings.Scene{Tables: tr.Tables, Code: new(lines.Code)}
	s.Code.Read(tr.Tables)
	for i, p := range parts {
		s.Parts = append(s.Parts, savings.Part{
			Stack: tr.Devices[0].Events.At(i).Stack, Category: p.category, Size: p.mebibyte * mib, Count: p.count, Old: p.old,
			Passing: p.stack == "passing" || p.stack == "temporary",
		})
		s.Bytes += p.mebibyte * mib * int64(p.count)
	}
	return s
}

// used returns the frames and stacks that parts use: what a program has never called
// is not in its trace.
func used(parts []part) string {
	var stacks, text strings.Builder
	for line := range strings.Lines(frames) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "stack" && slices.ContainsFunc(parts, func(p part) bool { return p.stack == words[1] }) {
			stacks.WriteString(line)
		}
	}
	for line := range strings.Lines(frames) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "frame" && slices.Contains(strings.Fields(stacks.String()), words[1]) {
			text.WriteString(line)
		}
	}
	return text.String() + stacks.String()
}

// saved is what was found, in MiB: what it is about and what it saves.
func saved(s *savings.Scene) map[string][2]int64 {
	s.Words = new(savings.Words)
	s.Words.Read(s.Tables, traits.Read(nil, s.Tables))
	got := make(map[string][2]int64)
	for _, a := range s.Find() {
		if a.Kind.Name == "save_on_cpu" {
			continue // whether it is said depends on what checkpointing saves over time
		}
		got[a.Kind.Name] = [2]int64{a.Bytes / mib, a.Saved / mib}
	}
	return got
}

func TestASavingIsWhatWouldNotBeThere(t *testing.T) {
	weights := part{trace.Parameter, 4, 25, "state", 0}
	for name, test := range map[string]struct {
		parts []part
		want  map[string][2]int64
	}{
		"the scores of attention, also in half precision": {
			[]part{weights, {trace.Activation, 3, 64, "probabilities", 0}, {trace.Activation, 3, 32, "scores", 0}, {trace.Activation, 3, 5, "scores", 0}},
			map[string][2]int64{"attention_scores": {288, 288}},
		},
		"a softmax that is no attention's": {
			[]part{weights, {trace.Activation, 3, 64, "hidden", 0}}, map[string][2]int64{},
		},
		"the logits and their gradients": {
			[]part{weights, {trace.Activation, 2, 80, "logits", 0}, {trace.BackwardTemporary, 1, 80, "backward", 0}},
			map[string][2]int64{"logits": {240, 210}},
		},
		"one block of logits": {
			[]part{weights, {trace.Activation, 1, 80, "logits", 0}}, map[string][2]int64{},
		},
		"what a name holds of the step before": {
			[]part{weights, {trace.Activation, 2, 40, "hidden", 1}}, map[string][2]int64{"stale_results": {40, 40}},
		},
		"results of an earlier step alone": {
			[]part{weights, {trace.Activation, 2, 40, "hidden", 2}}, map[string][2]int64{},
		},
		"gradients that stay during forward": {
			[]part{weights, {trace.Gradient, 4, 25, "state", 4}, {trace.Activation, 1, 10, "hidden", 0}},
			map[string][2]int64{"stale_gradients": {100, 100}},
		},
		"gradients while backward runs": {
			[]part{weights, {trace.Gradient, 4, 25, "state", 4}, {trace.BackwardTemporary, 1, 10, "backward", 0}},
			map[string][2]int64{"stale_gradients": {100, 100}},
		},
		"gradients of this step": {
			[]part{weights, {trace.Gradient, 4, 25, "state", 0}, {trace.BackwardTemporary, 1, 10, "backward", 0}}, map[string][2]int64{},
		},
		"flat gradients": {
			[]part{weights, {trace.Gradient, 1, 200, "flat", 0}}, map[string][2]int64{},
		},
		"relu beside blocks of its size, which others may read": {
			[]part{weights, {trace.Activation, 2, 20, "hidden", 0}, {trace.Activation, 2, 20, "positive", 0}}, map[string][2]int64{},
		},
		"more casts than weights of that size": {
			[]part{{trace.Parameter, 1, 24, "state", 0}, {trace.Activation, 4, 12, "copy", 0}}, map[string][2]int64{"weight_copies": {12, 12 + 12}},
		},
		"copies of weights that autocast made": {
			[]part{{trace.Parameter, 4, 24, "state", 0}, {trace.Activation, 4, 12, "copy", 0}}, map[string][2]int64{"weight_copies": {48, 48 + 48}},
		},
		"what an operation makes under autocast is no copy": {
			[]part{{trace.Parameter, 4, 24, "state", 0}, {trace.Activation, 4, 12, "wrapped", 0}}, map[string][2]int64{},
		},
		"copies of weights that are trained": {
			[]part{{trace.Parameter, 4, 24, "state", 0}, {trace.Gradient, 1, 1, "state", 0}, {trace.Activation, 4, 12, "copy", 0}},
			map[string][2]int64{"checkpointing": {48, 0}},
		},
		"state of an optimizer": {
			[]part{weights, {trace.Optimizer, 8, 25, "state", 0}}, map[string][2]int64{"optimizer_state": {200, 100}},
		},
		"state that steps make, and copies of the weights": {
			[]part{weights, {trace.Optimizer, 8, 25, "stepped", 0}, {trace.Optimizer, 4, 25, "state", 0}}, map[string][2]int64{"optimizer_state": {200, 100}},
		},
		"state of an 8-bit optimizer": {
			[]part{weights, {trace.Optimizer, 8, 25, "state8", 0}}, map[string][2]int64{},
		},
		"activations of six layers": {
			// How much depends on when the layers are computed again, which a moment does not tell.
			[]part{weights, {trace.Activation, 6, 90, "hidden", 0}, {trace.Activation, 6, 10, "scores", 0}, {trace.Gradient, 1, 1, "backward", 0}},
			map[string][2]int64{"checkpointing": {600, 0}},
		},
		"temporaries of a foreach optimizer": {
			[]part{weights, {trace.Optimizer, 4, 25, "temporary", 0}}, map[string][2]int64{"foreach_temporaries": {100, 100}},
		},
		"gradients beside the buckets": {
			[]part{weights, {trace.Communication, 1, 100, "buckets", 0}, {trace.Gradient, 4, 25, "backward", 0}}, map[string][2]int64{"bucket_copies": {100, 75}},
		},
		"gradients in the buckets": {[]part{weights, {trace.Gradient, 1, 100, "buckets", 0}}, map[string][2]int64{}},
		"attention by hand, without that word": {
			[]part{weights, {trace.Activation, 2, 60, "products", 0}, {trace.Activation, 2, 60, "mixed", 0}, {trace.Activation, 2, 15, "hidden", 0}}, map[string][2]int64{"attention_scores": {240, 240}},
		},
		"a softmax without products": {[]part{weights, {trace.Activation, 2, 30, "mixed", 0}}, map[string][2]int64{}},
		"activations that are computed again": {
			[]part{weights, {trace.Activation, 6, 90, "recomputed", 0}, {trace.Gradient, 1, 1, "backward", 0}}, map[string][2]int64{"checkpointing": {540, 0}},
		},
		"activations of layers whose weights are replicas": {
			[]part{weights, {trace.Parameter, 6, 25, "passing", 0}, {trace.Activation, 6, 90, "hidden", 0}, {trace.Gradient, 1, 1, "backward", 0}},
			map[string][2]int64{},
		},
		"activations without a backward pass": {
			[]part{weights, {trace.Activation, 6, 90, "hidden", 0}}, map[string][2]int64{},
		},
		"keys and values": {
			[]part{weights, {trace.KVCache, 10, 40, "state", 0}}, map[string][2]int64{"kv_cache": {400, 200}},
		},
		"keys and values of a server": {
			[]part{weights, {trace.KVCache, 10, 40, "served", 0}}, map[string][2]int64{"server_cache": {400, 0}},
		},
		"a server's cache that is little": {
			[]part{weights, {trace.KVCache, 1, 16, "served", 0}}, map[string][2]int64{},
		},
		"large workspaces": {
			[]part{weights, {trace.Workspace, 3, 32, "workspace", 0}}, map[string][2]int64{"workspaces": {96, 72}},
		},
		"small workspaces": {
			[]part{weights, {trace.Workspace, 30, 8, "workspace", 0}}, map[string][2]int64{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			equal.Values(t, "MiB that it is about and that it saves", test.want, saved(sceneOf(t, test.parts)))
		})
	}
}

// TestNothingIsAdvisedThatIsOn has a program that says itself what is on.
func TestNothingIsAdvisedThatIsOn(t *testing.T) {
	parts := []part{
		{trace.Parameter, 4, 25, "state", 0},
		{trace.Gradient, 1, 1, "state", 0},
		{trace.Activation, 8, 80, "hidden", 0},
		{trace.Activation, 8, 10, "scores", 0},
		{trace.Activation, 8, 10, "positive", 0},
	}
	single := func(s *savings.Scene) {
		s.Tables.Strings = append(slices.Clone(s.Tables.Strings), "float32")
		s.Tables.Notes = append(slices.Clone(s.Tables.Notes), trace.Note{DType: trace.StringID(len(s.Tables.Strings) - 1)})
		for i := range s.Parts {
			s.Parts[i].Note = trace.NoteID(len(s.Tables.Notes) - 1)
		}
	}
	for name, test := range map[string]struct {
		change func(s *savings.Scene)
		want   map[string]bool
	}{
		"nothing is on":        {func(*savings.Scene) {}, map[string]bool{"checkpointing": true, "mixed_precision": true}},
		"checkpointing is":     {func(s *savings.Scene) { s.Checkpointing = true }, map[string]bool{"mixed_precision": true}},
		"autocast is":          {func(s *savings.Scene) { s.Autocast = true }, map[string]bool{"checkpointing": true}},
		"backward has a graph": {func(s *savings.Scene) { s.Differentiates = true }, map[string]bool{"mixed_precision": true}},
		"there is no graph":    {func(s *savings.Scene) { s.Parts = slices.Delete(s.Parts, 1, 2) }, map[string]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sceneOf(t, parts)
			single(s)
			test.change(s)
			got := saved(s)
			for _, kind := range []string{"checkpointing", "mixed_precision"} {
				if _, found := got[kind]; found != test.want[kind] {
					t.Errorf("%s is advised: %v, want %v", kind, found, test.want[kind])
				}
			}
		})
	}
}

// TestWithoutBackwardAutogradIsNamedFirst has the activations of six layers.
func TestWithoutBackwardAutogradIsNamedFirst(t *testing.T) {
	parts := []part{{trace.Parameter, 4, 25, "state", 0}, {trace.Gradient, 1, 1, "state", 0}, {trace.Activation, 6, 90, "hidden", 0}, {trace.Activation, 6, 10, "scores", 0}}
	for none, want := range map[bool]string{true: "no_grad", false: "checkpointing"} {
		s := sceneOf(t, parts)
		s.Parts[2].Unused, s.Parts[3].Unused = none, none
		if got := saved(s); len(got) != 1 || got[want][0] == 0 {
			t.Errorf("no backward pass: %v, got %v, want %s", none, got, want)
		}
	}
}
