package nn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/amp"
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

// TestHooksRunInOrder has a checkpoint: what is computed again calls them again.
func TestHooksRunInOrder(t *testing.T) {
	want := []string{
		"pre ", "pre h", "pre h.0", "pre h.0.0", "post h.0.0", "pre h.0.1", "post h.0.1", "only gelu", "post h.0", "post h",
		"pre head", "post head", "post ",
		"backward ", "backward head", "backward h",
		"pre h.0", "pre h.0.0", "post h.0.0", "pre h.0.1", "post h.0.1", "only gelu", "post h.0",
		"backward h.0", "backward h.0.1", "backward h.0.0",
	}
	d := tensortest.Device(t)
	model, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.Sequential {
		return nn.NewMLP(b, nn.MLPConfig{In: 2, Hidden: 3, Out: 2, Layers: 1})
	})
	fatal.If(t, err)
	defer nn.Close(model)
	c := nn.NewCtx(autograd.NewTape(d, 0), nn.Options{Checkpoint: nn.PerBlock()})
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
	equal.Values(t, "hooks", want, got)
	remove()
	onlyGELU()
	got = nil
	run()
	if len(got) != 0 {
		t.Errorf("after they were removed hooks ran: %v", got)
	}
}

// entropyOf is a cross-entropy of rows of logits of some type, run forward and
// backward with one way to keep memory.
func entropyOf(t *testing.T, rows, classes int, dtype device.DType, autocast bool, o nn.Options) (loss float64, gradient []float64, kept, peak int64) {
	t.Helper()
	d := tensortest.Device(t)
	values, targets := make([]float64, rows*classes), make([]int32, rows)
	for i := range values {
		values[i] = 9 * math.Sin(float64(i*i))
	}
	for i := range targets {
		targets[i] = int32(i * 7 % classes)
	}
	targets[1] = autograd.IgnoreIndex
	weight := autograd.NewVariable("weight", tensor.From(d, values, tensor.Shape{rows, classes}, dtype, tensor.Tag{}))
	defer weight.Close()
	given := tensor.From(d, targets, tensor.Shape{rows}, device.Int32, tensor.Tag{})
	c := nn.NewCtx(autograd.NewTape(d, 1), o)
	if autocast {
		c.SetCaster(amp.BF16.Caster())
	}
	before := d.Live()
	d.Enter()
	c.Run(func() {
		logits := c.Scale(weight.Value(), -1)
		v := c.Call(&nn.CrossEntropy{}, logits, c.Take(given))
		c.Done(logits)
		kept = d.Live() - before
		loss = v.Data().Item()
		c.Backward(v)
	})
	peak = d.Leave() - before
	return loss, weight.Grad().Floats(), kept, peak
}

func TestBothWaysOfCrossEntropyHaveTheSameBits(t *testing.T) {
	for _, dtype := range []device.DType{device.Float32, device.BFloat16, device.Float16, device.Float64} {
		for _, autocast := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, autocast %v", dtype, autocast), func(t *testing.T) {
				lean, want, _, _ := entropyOf(t, 6, 333, dtype, autocast, nn.Options{})
				loss, got, _, _ := entropyOf(t, 6, 333, dtype, autocast, nn.Options{LossMemory: nn.PyTorchLoss})
				if loss != lean {
					t.Errorf("loss %v, want %v", loss, lean)
				}
				equal.Values(t, "gradients", want, got)
			})
		}
	}
}

// TestCrossEntropyTakesTheBytesOfPyTorchs compares with testdata/loss_memory.json,
// which testdata/loss_memory.py measures. With autocast the highest moment is another one,
// when there is a number for each row here that PyTorch has not.
func TestCrossEntropyTakesTheBytesOfPyTorchs(t *testing.T) {
	raw := fatal.Read(t, "testdata/loss_memory.json")
	var measured struct {
		Cases []struct {
			Rows, Classes int
			Type          string
			Autocast      bool
			Kept, Peak    int64 // above logits' weight and targets
		}
	}
	fatal.If(t, json.Unmarshal(raw, &measured))
	types := map[string]device.DType{"float32": device.Float32, "bfloat16": device.BFloat16}
	for _, want := range measured.Cases {
		_, _, kept, peak := entropyOf(t, want.Rows, want.Classes, types[want.Type], want.Autocast, nn.Options{LossMemory: nn.PyTorchLoss})
		if want.Autocast {
			peak -= int64(want.Rows) * device.Float32.Size()
		}
		if kept != want.Kept || peak != want.Peak {
			t.Errorf("%d rows of %d classes in %s, autocast %v: %d bytes are kept and %d taken, PyTorch's are %d and %d",
				want.Rows, want.Classes, want.Type, want.Autocast, kept, peak, want.Kept, want.Peak)
		}
	}
}
