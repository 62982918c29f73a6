package nn_test

import (
	"math"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// modules are small ones of every kind, each with the shape it takes.
var modules = map[string]struct {
	build func(b nn.Builder) nn.Module
	shape tensor.Shape
	ids   bool // takes whole numbers below 5
}{
	"Linear":    {func(b nn.Builder) nn.Module { return nn.NewLinear(b, 3, 4, true) }, tensor.Shape{2, 3}, false},
	"LayerNorm": {func(b nn.Builder) nn.Module { return nn.NewLayerNorm(b, 4) }, tensor.Shape{3, 4}, false},
	"RMSNorm":   {func(b nn.Builder) nn.Module { return nn.NewRMSNorm(b, 4) }, tensor.Shape{3, 4}, false},
	"Embedding": {func(b nn.Builder) nn.Module { return nn.NewEmbedding(b, 5, 3, 1) }, tensor.Shape{2, 3}, true},
	"Conv2d": {func(b nn.Builder) nn.Module {
		return nn.NewConv2d(b, 2, 3, 3, autograd.Conv2DOptions{Pad: [2]int{1, 1}})
	}, tensor.Shape{1, 2, 4, 4}, false},
	"activations one after the other": {func(b nn.Builder) nn.Module {
		return nn.NewSequential(nn.NewLinear(b.In("0"), 3, 4, false), &nn.GELU{}, &nn.SiLU{}, &nn.GELU{Tanh: true},
			&nn.Softmax{}, &nn.Dropout{P: 0.3}, &nn.ReLU{})
	}, tensor.Shape{2, 3}, false},
	"a convolution, flattened": {func(b nn.Builder) nn.Module {
		return nn.NewSequential(nn.NewConv2d(b.In("0"), 1, 2, 3, autograd.Conv2DOptions{}), &nn.Flatten{},
			nn.NewLinear(b.In("2"), 8, 2, true))
	}, tensor.Shape{2, 1, 4, 4}, false},
	"attention": {func(b nn.Builder) nn.Module { return attention(b, 0) }, tensor.Shape{2, 5, 4}, false},
	"attention with dropout on probabilities": {
		func(b nn.Builder) nn.Module { return attention(b, 0.3) },
		tensor.Shape{2, 5, 4},
		false,
	},
	"parts that are named once": {func(b nn.Builder) nn.Module { return newShifted(b) }, tensor.Shape{2, 3}, false},
	"mean square": {func(b nn.Builder) nn.Module {
		return nn.NewSequential(nn.NewLinear(b.In("0"), 3, 2, true), nn.NewFunction(func(c *nn.Ctx, in ...*autograd.Value) *autograd.Value {
			return c.Call(&nn.MSE{}, in[0], c.Scale(in[0], 3))
		}))
	}, tensor.Shape{2, 3}, false},
	"MLP": {
		func(b nn.Builder) nn.Module { return nn.NewMLP(b, nn.MLPConfig{In: 3, Hidden: 5, Out: 2, Layers: 2}) },
		tensor.Shape{2, 3},
		false,
	},
	"ConvNet": {func(b nn.Builder) nn.Module {
		return nn.NewConvNet(b, nn.ConvNetConfig{Channels: 1, Width: 2, Layers: 2, Classes: 3})
	}, tensor.Shape{2, 1, 6, 6}, false},
	"attention in groups": {func(b nn.Builder) nn.Module {
		return nn.NewGroupedAttention(b, 8, 4, 2, nn.NewRotary(b, 5, 2, 10), 0.5)
	}, tensor.Shape{2, 5, 8}, false},
	"gated MLP": {func(b nn.Builder) nn.Module { return nn.NewGatedMLP(b, 3, 5, 0.5) }, tensor.Shape{2, 3}, false},
	"Llama": {func(b nn.Builder) nn.Module {
		return nn.NewLlama(b, nn.LlamaConfig{Layers: 2, Dim: 8, Heads: 2, KVHeads: 1, Hidden: 6, Context: 4, Vocab: 5})
	}, tensor.Shape{2, 3}, true},
	"GPT": {func(b nn.Builder) nn.Module {
		return nn.NewGPT(b, nn.GPTConfig{Layers: 2, Dim: 4, Heads: 2, Context: 4, Vocab: 5, Bias: true, Dropout: 0.2, AttentionDropout: 0.1})
	}, tensor.Shape{2, 3}, true},
}

func attention(b nn.Builder, dropout float64) nn.Module {
	return &nn.MultiHeadAttention{
		QKV: nn.NewLinear(b.In("qkv"), 4, 12, true), Proj: nn.NewLinear(b.In("proj"), 4, 4, true),
		Heads: 2, Causal: true, Dropout: dropout,
	}
}

func TestGradientsOfEveryLayerAreFiniteDifferences(t *testing.T) {
	for name, m := range modules {
		for _, a := range []nn.Attention{nn.NaiveAttention, nn.ChunkedAttention, nn.FlashAttention} {
			for _, p := range []nn.Policy{{}, nn.PerBlock(), nn.Selective()} {
				t.Run(name+" "+a.String()+" "+p.String(), func(t *testing.T) {
					d := tensortest.Device(t)
					model, err := nn.Build(d, device.Float64, 5, m.build)
					if err != nil {
						t.Fatal(err)
					}
					defer nn.Close(model)
					spread(model)
					checkParams(t, d, model, nn.Options{Training: true, Attention: a, Checkpoint: p}, m.shape, m.ids)
				})
			}
		}
	}
}

// spread moves parameters away from special values and to a size at which
// differences can be measured.
func spread(m nn.Module) {
	for n, p := range nn.Params(m) {
		values := p.Data().Floats()
		for i := range values {
			values[i] += 0.3 * math.Sin(float64(7*i+n))
		}
		tensor.Write(p.Data(), values)
	}
}

func checkParams(t *testing.T, d *tensor.Device, m nn.Module, o nn.Options, shape tensor.Shape, ids bool) {
	t.Helper()
	loss := func(backward bool) (result float64) {
		tape := autograd.NewTape(d, 9)
		c := nn.NewCtx(tape, o)
		tape.Run(func() {
			out := tape.SumAll(weighted(tape, c.Call(m, input(tape, shape, ids))))
			result = out.Data().Item()
			if backward {
				tape.Backward(out)
			}
		})
		return result
	}
	loss(true)
	const step = 1e-5
	for _, p := range nn.Params(m) {
		if p.Grad() == nil {
			t.Fatalf("%s has no gradient", p.Name())
		}
		got, values := p.Grad().Floats(), p.Data().Floats()
		for i := 0; i < len(values); i += 1 + len(values)/6 {
			x := values[i]
			at := func(moved float64) float64 {
				values[i] = moved
				tensor.Write(p.Data(), values)
				return loss(false)
			}
			want := (at(x+step) - at(x-step)) / (2 * step)
			at(x)
			if math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s, element %d: gradient %v, by differences %v", p.Name(), i, got[i], want)
			}
		}
	}
}

func input(tape *autograd.Tape, shape tensor.Shape, ids bool) *autograd.Value {
	tag := tensor.Tag{Category: trace.Input, Role: "input"}
	values := make([]float64, shape.Size())
	for i := range values {
		if values[i] = math.Cos(float64(5 * i)); ids {
			values[i] = float64(i * 3 % 5)
		}
	}
	if ids {
		return tape.Take(tensor.From(tape.Device(), values, shape, device.Int32, tag))
	}
	return tape.Take(tensor.From(tape.Device(), values, shape, device.Float64, tag))
}

// weighted multiplies by fixed numbers, so that every element counts
// differently.
func weighted(t *autograd.Tape, x *autograd.Value) *autograd.Value {
	factors := make([]float64, x.Size())
	for i := range factors {
		factors[i] = math.Sin(float64(3*i + 1))
	}
	return t.Mul(x, t.Take(tensor.From(t.Device(), factors, x.Shape(), x.DType(), tensor.Tag{})))
}
