package nn_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

var small = nn.GPTConfig{Layers: 5, Dim: 32, Heads: 4, Context: 24, Vocab: 61, Bias: true, Dropout: 0}

// trainer is a model with what a step needs.
type trainer struct {
	model   *nn.GPT
	c       *nn.Ctx
	loss    nn.CrossEntropy
	device  *tensor.Device
	tokens  *tensor.Tensor
	targets *tensor.Tensor
}

const batch, rows = 3, 24

func newTrainer(t *testing.T, g nn.GPTConfig, o nn.Options) *trainer {
	t.Helper()
	d := tensortest.Device(t)
	model, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.GPT { return nn.NewGPT(b, g) })
	fatal.If(t, err)
	o.Training = true
	r := &trainer{model: model, c: nn.NewCtx(autograd.NewTape(d, 2), o), device: d}
	r.tokens, r.targets = tokens(d, g.Vocab, 0), tokens(d, g.Vocab, 1)
	t.Cleanup(func() {
		nn.Close(model)
		r.tokens.Release()
		r.targets.Release()
	})
	return r
}

func tokens(d *tensor.Device, vocab, from int) *tensor.Tensor {
	ids := make([]int32, batch*rows)
	for i := range ids {
		ids[i] = int32((i + from) * (i + from) % vocab)
	}
	return tensor.From(d, ids, tensor.Shape{batch, rows}, device.Int32, tensor.Tag{Category: trace.Input, Role: "tokens"})
}

// forward returns the loss; it runs within the tape's Run.
func (r *trainer) forward(c *nn.Ctx) *autograd.Value {
	x, y := c.Take(r.tokens.Retain()), c.Take(r.targets.Retain())
	logits := c.Call(r.model, x)
	loss := c.Call(&r.loss, logits, y)
	c.Done(logits)
	return loss
}

func (r *trainer) bytes(c trace.Category) int64 {
	return r.device.Memory().Stats().Category[c].Current
}

func policies(t *testing.T) map[string]nn.Policy {
	t.Helper()
	all := make(map[string]nn.Policy)
	for _, text := range []string{
		"none", "block", "every=2", "sqrt", "ratio=0.5", "selective", "selective=attention",
		"layers=h.0+h.1.mlp", "layers=wte+drop+h.0.ln_1+h.1+h.1.mlp+h.2.attn.qkv+h.3.mlp.gelu+ln_f+lm_head",
	} {
		p, err := nn.ParsePolicy(text)
		fatal.If(t, err)
		all[text] = p
	}
	all["the activations kept"] = nn.Selective("gelu_tanh", "dropout")
	return all
}

func TestCheckpointsSaveActivations(t *testing.T) {
	saved := make(map[string]int64)
	for name, p := range policies(t) {
		r := newTrainer(t, small, nn.Options{Checkpoint: p, Attention: nn.FlashAttention})
		r.c.Run(func() {
			r.forward(r.c)
			saved[name] = r.bytes(trace.Activation)
		})
	}
	for _, order := range [][2]string{
		{"block", "selective=attention"},
		{"sqrt", "block"},
		{"selective=attention", "selective"},
		{"selective", "none"},
		{"block", "ratio=0.5"},
		{"ratio=0.5", "none"},
		{"every=2", "block"},
		{"block", "layers=h.0+h.1.mlp"},
		{"layers=h.0+h.1.mlp", "none"},
	} {
		if saved[order[0]] >= saved[order[1]] {
			t.Errorf("%s keeps %d bytes and %s %d, want less", order[0], saved[order[0]], order[1], saved[order[1]])
		}
	}
	if saved["block"]*5 > saved["none"]*2 {
		t.Errorf("per block %d of %d bytes are kept, want at most 40 %%", saved["block"], saved["none"])
	}
}

func TestMicroBatchesDoNotAddUpInTheLayerTable(t *testing.T) {
	r := newTrainer(t, small, nn.Options{})
	saved := func(runs int) int64 {
		r.c.Reset()
		for range runs {
			r.c.Run(func() { r.c.Backward(r.forward(r.c)) })
		}
		return layers(r.c)["Linear lm_head"].SavedBytes
	}
	if one, three := saved(1), saved(3); one != three || one == 0 {
		t.Errorf("one run saves %d bytes, three in a step %d, want the same", one, three)
	}
}

func TestPoliciesDivideBlocks(t *testing.T) {
	// Every block is a letter: those of a checkpoint in capitals, segments apart.
	tests := map[string]struct {
		policy nn.Policy
		blocks int
		want   string
	}{
		"none is one run":             {nn.Policy{}, 5, "abcde"},
		"per block":                   {nn.PerBlock(), 3, "A B C"},
		"every two, and what is left": {nn.Every(2), 5, "AB CD E"},
		"every zero is every one":     {nn.Every(0), 2, "A B"},
		"segments of √9":              {nn.SqrtN(), 9, "ABC DEF GHI"},
		"segments of √10, rounded up": {nn.SqrtN(), 10, "ABCD EFGH IJ"},
		"a ratio of nothing":          {nn.Ratio(0), 3, "a b c"},
		"half, spread":                {nn.Ratio(0.5), 4, "a B c D"},
		"a third, spread":             {nn.Ratio(1.0 / 3), 6, "a b C d e F"},
		"all":                         {nn.Ratio(1), 3, "A B C"},
		"more than all":               {nn.Ratio(7), 2, "A B"},
		"selective is per block":      {nn.Selective(), 2, "A B"},
		"no blocks at all":            {nn.SqrtN(), 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var parts []string
			for _, s := range test.policy.Segments(test.blocks) {
				letters := "abcdefghijklmnop"[s.From:s.To]
				if s.Checkpoint {
					letters = strings.ToUpper(letters)
				}
				parts = append(parts, letters)
			}
			if got := strings.Join(parts, " "); got != test.want {
				t.Errorf("%d blocks are divided %q, want %q", test.blocks, got, test.want)
			}
		})
	}
}

func TestPoliciesAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{
		"none", "block", "every=3", "sqrt", "ratio=0.25", "selective", "selective=attention+linear",
		"layers=h.0", "layers=h.0+h.3.mlp",
	} {
		p, err := nn.ParsePolicy(text)
		if err != nil || p.String() != text {
			t.Errorf("%q is read as %q, error %v", text, p, err)
		}
	}
	for _, text := range []string{
		"", "all", "every", "every=", "every=0", "every=x", "ratio=1.5", "ratio=-1", "ratio=NaN", "block=2", "none=", "selective=",
		"layers", "layers=", "layers=h.0+", "plan", "plan=96MiB",
	} {
		p, err := nn.ParsePolicy(text)
		if err == nil {
			t.Errorf("%q is read as %v, want an error", text, p)
			continue
		}
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "every=K") {
			t.Errorf("error for %q is %q, want one line that says what there is", text, err)
		}
	}
}
