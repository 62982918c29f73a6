package nn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

func layers(c *nn.Ctx) map[string]*nn.Layer {
	all := make(map[string]*nn.Layer)
	for _, l := range c.Layers() {
		all[l.Class+" "+l.Name] = l
	}
	return all
}

func TestTheLayerTableOfAGPT(t *testing.T) {
	r := newTrainer(t, small, nn.Options{Attention: nn.FlashAttention})
	var live int64
	r.c.Run(func() {
		loss := r.forward(r.c)
		live = r.bytes(trace.Activation)
		r.c.Backward(loss)
	})
	const (
		bt    = batch * rows
		float = 4
		d     = 32
		heads = 4
	)
	all := layers(r.c)
	tests := map[string]struct {
		shape                     tensor.Shape
		parameters, output, saved int64
	}{
		// What each operation's rule reads and no earlier operation has saved.
		"LayerNorm h.2.ln_1":          {tensor.Shape{batch, rows, d}, 2 * d * float, bt * d * float, bt * (d + 2) * float},
		"Linear h.2.attn.qkv":         {tensor.Shape{batch, rows, 3 * d}, (3*d*d + 3*d) * float, bt * 3 * d * float, bt * d * float},
		"MultiHeadAttention h.2.attn": {tensor.Shape{batch, rows, d}, 0, bt * d * float, bt * (4*d + heads) * float},
		"Linear h.2.attn.proj":        {tensor.Shape{batch, rows, d}, (d*d + d) * float, bt * d * float, 0},
		"LayerNorm h.2.ln_2":          {tensor.Shape{batch, rows, d}, 2 * d * float, bt * d * float, bt * (d + 2) * float},
		"Linear h.2.mlp.fc":           {tensor.Shape{batch, rows, 4 * d}, (4*d*d + 4*d) * float, bt * 4 * d * float, bt * d * float},
		"GELU h.2.mlp.gelu":           {tensor.Shape{batch, rows, 4 * d}, 0, bt * 4 * d * float, bt * 4 * d * float},
		"Linear h.2.mlp.proj":         {tensor.Shape{batch, rows, d}, (4*d*d + d) * float, bt * d * float, bt * 4 * d * float},
		"Block h.2":                   {tensor.Shape{batch, rows, d}, 0, bt * d * float, 0},
		"Linear lm_head":              {tensor.Shape{batch, rows, 61}, 61 * d * float, bt * 61 * float, bt * d * float},
		"CrossEntropy ":               {tensor.Shape{}, 0, float, (bt*61 + bt + 1) * float},
	}
	for name, want := range tests {
		l := all[name]
		if l == nil {
			t.Errorf("no layer %q", name)
			continue
		}
		if diff := cmp.Diff(want.shape.String(), l.OutputShape.String()); diff != "" || l.DType != device.Float32 {
			t.Errorf("%s: output %v %v, want float32 %v", name, l.DType, l.OutputShape, want.shape)
		}
		if l.ParameterBytes != want.parameters || l.OutputBytes != want.output || l.SavedBytes != want.saved {
			t.Errorf("%s: %d bytes of parameters, %d of output, %d saved; want %d, %d, %d",
				name, l.ParameterBytes, l.OutputBytes, l.SavedBytes, want.parameters, want.output, want.saved)
		}
		if l.Calls != 1 || l.ForwardNS <= 0 || l.BackwardNS <= 0 || l.RecomputeNS != 0 || l.Checkpointed {
			t.Errorf("%s: %d calls, forward %d, backward %d, recompute %d ns, checkpointed %v; want 1 call, both passes, no checkpoint",
				name, l.Calls, l.ForwardNS, l.BackwardNS, l.RecomputeNS, l.Checkpointed)
		}
	}
	checkSums(t, r, live)
}

// checkSums wants the saved bytes of all layers to be the activations.
func checkSums(t *testing.T, r *trainer, live int64) {
	t.Helper()
	var sum int64
	for _, l := range r.c.Layers() {
		sum += l.SavedBytes
	}
	if sum != live {
		t.Errorf("layers say they saved %d bytes, activations were %d", sum, live)
	}
	if first := r.c.Layers()[0]; first.Class != "GPT" {
		t.Errorf("the first layer is a %s, want the model", first.Class)
	}
}

func TestTheLayerTableOfACheckpointedGPT(t *testing.T) {
	r := newTrainer(t, small, nn.Options{Checkpoint: nn.Ratio(0.4), Attention: nn.FlashAttention})
	r.step()
	for name, l := range layers(r.c) {
		// Two of five blocks: the third and the fifth.
		within := strings.HasPrefix(l.Name, "h.2") || strings.HasPrefix(l.Name, "h.4")
		if l.Checkpointed != within || (l.RecomputeNS > 0) != within {
			t.Errorf("%s: checkpointed %v, recomputed for %d ns; want it %v", name, l.Checkpointed, l.RecomputeNS, within)
		}
		if within && l.SavedBytes != 0 {
			t.Errorf("%s: %d bytes saved in the forward pass, want 0", name, l.SavedBytes)
		}
		if l.BackwardNS <= 0 {
			t.Errorf("%s: no backward time", name)
		}
	}
	// Blocks keep the inputs of the two checkpoints; a plain block's first
	// normalisation has saved neither.
	if got, want := layers(r.c)["Blocks h"].SavedBytes, int64(2*batch*rows*32*4); got != want {
		t.Errorf("the blocks' own saved bytes are %d, want two inputs, %d", got, want)
	}
}

func TestHooksRunInOrder(t *testing.T) {
	tests := map[string]struct {
		policy nn.Policy
		want   []string
	}{
		"without checkpoints": {nn.Policy{}, []string{
			"pre ", "pre h", "pre h.0", "pre h.0.0", "post h.0.0", "pre h.0.1", "post h.0.1", "only gelu", "post h.0", "post h",
			"pre head", "post head", "post ",
			"backward ", "backward head", "backward h", "backward h.0", "backward h.0.1", "backward h.0.0",
		}},
		"with a checkpoint": {nn.PerBlock(), []string{
			"pre ", "pre h", "pre h.0", "pre h.0.0", "post h.0.0", "pre h.0.1", "post h.0.1", "only gelu", "post h.0", "post h",
			"pre head", "post head", "post ",
			"backward ", "backward head", "backward h",
			"pre h.0", "pre h.0.0", "post h.0.0", "pre h.0.1", "post h.0.1", "only gelu", "post h.0",
			"backward h.0", "backward h.0.1", "backward h.0.0",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			model, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.Sequential {
				return nn.NewMLP(b, nn.MLPConfig{In: 2, Hidden: 3, Out: 2, Layers: 1})
			})
			fatal.If(t, err)
			defer nn.Close(model)
			c := nn.NewCtx(autograd.NewTape(d, 0), nn.Options{Checkpoint: test.policy})
			var got []string
			remove := c.AddHooks(nn.Hooks{
				Pre: func(_ *nn.Ctx, l *nn.Layer, _ []*autograd.Value) { got = append(got, "pre "+l.Name) },
				Post: func(_ *nn.Ctx, l *nn.Layer, _ []*autograd.Value, _ *autograd.Value) {
					got = append(got, "post "+l.Name)
				},
				Backward: func(_ *nn.Ctx, l *nn.Layer, grad *tensor.Tensor) {
					if grad == nil || grad.Released() {
						t.Errorf("%q has no gradient in its backward hook", l.Name)
					}
					got = append(got, "backward "+l.Name)
				},
			})
			gelu := model.Children()[0].Module.Children()[0].Module.Children()[1].Module
			onlyGELU := c.AddHooksTo(gelu, nn.Hooks{Post: func(*nn.Ctx, *nn.Layer, []*autograd.Value, *autograd.Value) {
				got = append(got, "only gelu")
			}})
			run := func() {
				c.Run(func() {
					x := c.Take(tensor.From(d, []float32{1, 2, 3, 4}, tensor.Shape{2, 2}, device.Float32, tensor.Tag{}))
					c.Backward(c.SumAll(c.Call(model, x)))
				})
			}
			run()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
			remove()
			onlyGELU()
			got = nil
			run()
			if len(got) != 0 {
				t.Errorf("after they were removed hooks ran: %v", got)
			}
		})
	}
}
