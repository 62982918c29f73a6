package nn_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// reference is testdata/pytorch.json, which testdata/pytorch.py makes.
type reference struct {
	Cases        map[string]referenceCase `json:"cases"`
	SavedByBlock []int64                  `json:"saved_by_block"`
	// Of a Llama, with as many heads of keys as of queries and with half as many.
	SavedByLlamaBlock   []int64 `json:"saved_by_llama_block"`
	SavedByGroupedBlock []int64 `json:"saved_by_grouped_block"`
}

type referenceCase struct {
	Inputs []referenceTensor          `json:"inputs"`
	Params map[string]referenceTensor `json:"params"`
	Output referenceTensor            `json:"output"`
	Grads  map[string]referenceTensor `json:"grads"`
}

type referenceTensor struct {
	Shape  tensor.Shape `json:"shape"`
	Values []float64    `json:"values"`
}

func readReference(t *testing.T) reference {
	t.Helper()
	raw := fatal.Read(t, "testdata/pytorch.json")
	var r reference
	fatal.If(t, json.Unmarshal(raw, &r))
	return r
}

var pytorchLayers = map[string]func(b nn.Builder) nn.Module{
	"Linear":    func(b nn.Builder) nn.Module { return nn.NewLinear(b, 3, 4, true) },
	"LayerNorm": func(b nn.Builder) nn.Module { return nn.NewLayerNorm(b, 5) },
	"RMSNorm":   func(b nn.Builder) nn.Module { return nn.NewRMSNorm(b, 5) },
	"Embedding": func(b nn.Builder) nn.Module { return nn.NewEmbedding(b, 5, 3, 1) },
	"Conv2d": func(b nn.Builder) nn.Module {
		return nn.NewConv2d(b, 2, 3, 3, autograd.Conv2DOptions{Stride: [2]int{2, 2}, Pad: [2]int{1, 1}})
	},
	"Conv2d in groups": func(b nn.Builder) nn.Module {
		return nn.NewConv2d(b, 4, 6, 3, autograd.Conv2DOptions{Groups: 2, Dilate: [2]int{2, 2}})
	},
	"GELU":         func(nn.Builder) nn.Module { return &nn.GELU{} },
	"GELU by tanh": func(nn.Builder) nn.Module { return &nn.GELU{Tanh: true} },
	"SiLU":         func(nn.Builder) nn.Module { return &nn.SiLU{} },
	"ReLU":         func(nn.Builder) nn.Module { return &nn.ReLU{} },
	"Softmax": func(nn.Builder) nn.Module {
		return nn.NewFunction(func(c *nn.Ctx, in ...*autograd.Value) *autograd.Value { return c.Softmax(in[0]) })
	},
	"CrossEntropy":     func(nn.Builder) nn.Module { return &nn.CrossEntropy{} },
	"attention":        func(b nn.Builder) nn.Module { return pytorchAttention(b, false) },
	"causal attention": func(b nn.Builder) nn.Module { return pytorchAttention(b, true) },
	"attention in groups": func(b nn.Builder) nn.Module {
		return nn.NewGroupedAttention(b, 8, 4, 2, nn.NewRotary(b, 5, 2, 10), 1)
	},
	"gated MLP": func(b nn.Builder) nn.Module { return nn.NewGatedMLP(b, 4, 6, 1) },
}

func pytorchAttention(b nn.Builder, causal bool) nn.Module {
	return &nn.MultiHeadAttention{
		QKV: nn.NewLinear(b.In("qkv"), 6, 18, true), Proj: nn.NewLinear(b.In("proj"), 6, 6, true),
		Heads: 2, Causal: causal,
	}
}

func TestLayersComputeWhatPyTorchs(t *testing.T) {
	for name, want := range readReference(t).Cases {
		for _, a := range []nn.Attention{nn.NaiveAttention, nn.ChunkedAttention, nn.FlashAttention} {
			t.Run(name+" "+a.String(), func(t *testing.T) {
				d := tensortest.Device(t)
				m, err := nn.Build(d, device.Float64, 1, pytorchLayers[name])
				fatal.If(t, err)
				defer nn.Close(m)
				params := make(map[string]*nn.Param)
				for _, p := range nn.Params(m) {
					params[p.Name()] = p
					tensor.Write(p.Data(), want.Params[p.Name()].Values)
				}
				if len(params) != len(want.Params) {
					t.Fatalf("the layer has parameters %v, PyTorch's %d", params, len(want.Params))
				}
				c := nn.NewCtx(autograd.NewTape(d, 1), nn.Options{Training: true, Attention: a})
				c.Run(func() {
					y := c.Call(m, inputsOf(c, want)...)
					near(t, "output", y.Data(), want.Output)
					if len(params) > 0 {
						c.Backward(c.SumAll(c.Mul(y, cosines(c, y.Shape()))))
					}
				})
				for name, p := range params {
					near(t, "gradient of "+name, p.Grad(), want.Grads[name])
				}
			})
		}
	}
}

func inputsOf(c *nn.Ctx, r referenceCase) []*autograd.Value {
	var in []*autograd.Value
	for _, x := range r.Inputs {
		dtype := device.Float64
		if !slices.ContainsFunc(x.Values, func(v float64) bool { return v != math.Trunc(v) }) {
			dtype = device.Int64
		}
		in = append(in, c.Take(tensor.From(c.Device(), x.Values, x.Shape, dtype, tensor.Tag{})))
	}
	return in
}

func cosines(c *nn.Ctx, shape tensor.Shape) *autograd.Value {
	values := make([]float64, shape.Size())
	for i := range values {
		values[i] = math.Cos(float64(i))
	}
	return c.Take(tensor.From(c.Device(), values, shape, device.Float64, tensor.Tag{}))
}

func near(t *testing.T, what string, got *tensor.Tensor, want referenceTensor) {
	t.Helper()
	if got == nil || !got.Shape().Equal(want.Shape) {
		t.Fatalf("%s is %v, want shape %v", what, got, want.Shape)
	}
	for i, v := range got.Floats() {
		if math.Abs(v-want.Values[i]) > 1e-12*(1+math.Abs(want.Values[i])) {
			t.Errorf("%s, element %d: got %v, PyTorch has %v", what, i, v, want.Values[i])
		}
	}
}

func TestABlockSavesTheBytesThatPyTorchSaves(t *testing.T) {
	want := readReference(t)
	llama := func(kvHeads int) func(b nn.Builder) *nn.Blocks {
		return func(b nn.Builder) *nn.Blocks {
			return nn.NewLlama(b, nn.LlamaConfig{Layers: 1, Dim: 32, Heads: 2, KVHeads: kvHeads, Hidden: 48, Context: 16, Vocab: 8}).Blocks
		}
	}
	tests := map[string]struct {
		build func(b nn.Builder) *nn.Blocks
		want  []int64
	}{
		"of a GPT": {func(b nn.Builder) *nn.Blocks {
			return nn.NewGPT(b, nn.GPTConfig{Layers: 1, Dim: 32, Heads: 4, Context: 16, Vocab: 8, Bias: true}).Blocks
		}, want.SavedByBlock},
		"of a Llama":             {llama(2), want.SavedByLlamaBlock},
		"of a Llama with groups": {llama(1), want.SavedByGroupedBlock},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			equal.Values(t, "bytes of what is saved", test.want, savedBy(t, test.build))
		})
	}
}

// savedBy returns the sizes of what the first block of a model saves, in order.
func savedBy(t *testing.T, build func(b nn.Builder) *nn.Blocks) (sizes []int64) {
	t.Helper()
	d := tensor.NewDevice("dry", memory(t), dry.Backend{}, tensor.Options{})
	m, err := nn.Build(d, device.Float32, 1, build)
	fatal.If(t, err)
	c := nn.NewCtx(autograd.NewTape(d, 1), nn.Options{Training: true, Attention: nn.FlashAttention})
	c.OnSave(func(_ string, bytes int64) { sizes = append(sizes, bytes) })
	c.Run(func() {
		x := c.Take(tensor.Full(d, tensor.Shape{2, 16, 32}, device.Float32, 1, tensor.Tag{Category: trace.Workspace}))
		c.Call(m.Children()[0].Module, x)
	})
	slices.Sort(sizes)
	return sizes
}

// memory is without end, and holds nothing.
func memory(t *testing.T) *alloc.Allocator {
	t.Helper()
	a, err := alloc.New(dry.NewMemory(0), alloc.Options{})
	fatal.If(t, err)
	return a
}
