package autograd_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// operation computes something of variables, for a check of its gradient.
type operation struct {
	shapes  []tensor.Shape
	low     float64 // of the variables' values; 0 and 0 mean −1 to 1
	high    float64
	compute func(t *autograd.Tape, v []*autograd.Value) *autograd.Value
}

var operations = map[string]operation{
	"add":                      two(s(2, 3), s(2, 3), (*autograd.Tape).Add),
	"add a row":                two(s(2, 3), s(3), (*autograd.Tape).Add),
	"add to a row":             two(s(3), s(2, 3), (*autograd.Tape).Add),
	"add a column":             two(s(2, 3), s(2, 1), (*autograd.Tape).Add),
	"add a number":             two(s(2, 3), s(), (*autograd.Tape).Add),
	"add both stretched":       two(s(2, 1, 3), s(4, 1), (*autograd.Tape).Add),
	"subtract":                 two(s(2, 3), s(2, 3), (*autograd.Tape).Sub),
	"subtract from a row":      two(s(3), s(2, 3), (*autograd.Tape).Sub),
	"subtract a column":        two(s(2, 2, 3), s(2, 1), (*autograd.Tape).Sub),
	"multiply":                 two(s(2, 3), s(2, 3), (*autograd.Tape).Mul),
	"multiply a row":           two(s(2, 3), s(1, 3), (*autograd.Tape).Mul),
	"multiply by a row":        two(s(1, 3), s(2, 3), (*autograd.Tape).Mul),
	"multiply both stretched":  two(s(2, 1, 3), s(2, 4, 1), (*autograd.Tape).Mul),
	"divide":                   positive(two(s(2, 3), s(2, 3), (*autograd.Tape).Div)),
	"divide by a column":       positive(two(s(2, 3), s(2, 1), (*autograd.Tape).Div)),
	"divide a row":             positive(two(s(3), s(2, 3), (*autograd.Tape).Div)),
	"matmul":                   two(s(2, 3), s(3, 4), (*autograd.Tape).MatMul),
	"matmul of a batch by one": two(s(2, 2, 3), s(3, 4), (*autograd.Tape).MatMul),
	"matmul of batches":        two(s(2, 2, 2, 3), s(2, 2, 3, 4), (*autograd.Tape).MatMul),
	"matmul with a transposed matrix": two(s(2, 3), s(4, 3), func(t *autograd.Tape, a, b *autograd.Value) *autograd.Value {
		return t.MatMul(a, t.Transpose(b, 0, 1))
	}),
	"linear": {shapes: []tensor.Shape{s(2, 2, 3), s(4, 3), s(4)}, compute: func(t *autograd.Tape, v []*autograd.Value) *autograd.Value {
		return t.Linear(v[0], v[1], v[2])
	}},
	"linear without bias": two(s(2, 3), s(4, 3), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		return t.Linear(x, w, nil)
	}),
	"linear on a transposed view": two(s(3, 2), s(4, 3), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		return t.Linear(t.Transpose(x, 0, 1), w, nil)
	}),
	"scale": single(s(2, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Scale(x, -3) }),
	"scale by a number on the device": single(s(2, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
		factor := tensor.Full(t.Device(), nil, device.Float64, 2.5, tensor.Tag{})
		defer factor.Release()
		return t.ScaleBy(x, factor)
	}),
	"softmax":     single(s(2, 5), (*autograd.Tape).Softmax),
	"view":        single(s(2, 6), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.View(x, 3, -1) }),
	"view a copy": single(s(2, 6), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.View(t.Transpose(x, 0, 1), -1) }),
	"transpose":   single(s(2, 3, 4), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Transpose(x, 0, -1) }),
	"permute":     single(s(2, 3, 4), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Permute(x, 2, 0, 1) }),
	"narrow":      single(s(2, 6), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Narrow(x, 1, 2, 3) }),
	"narrow twice": single(s(2, 6), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
		return t.Mul(t.Narrow(x, 1, 0, 4), t.Narrow(x, 1, 2, 4))
	}),
	"expand":      single(s(2, 1), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Expand(x, 3, 2, 4) }),
	"contiguous":  single(s(2, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Contiguous(t.Transpose(x, 0, 1)) }),
	"concat":      two(s(2, 3), s(2, 1), func(t *autograd.Tape, a, b *autograd.Value) *autograd.Value { return t.Concat(1, a, b) }),
	"concat rows": two(s(2, 3), s(1, 3), func(t *autograd.Tape, a, b *autograd.Value) *autograd.Value { return t.Concat(0, a, b) }),
	"sum":         single(s(2, 3, 4), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Sum(x, 1, 1) }),
	"mean":        single(s(2, 3, 4), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Mean(x, -2, -1) }),
	"sum of all":  single(s(2, 3), (*autograd.Tape).SumAll),
	"mean of all of a view": single(s(2, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
		return t.MeanAll(t.Transpose(x, 0, 1))
	}),
	"dropout":            single(s(4, 5), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Dropout(x, 0.4) }),
	"a value used twice": single(s(2, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Mul(x, t.Add(x, x)) }),
	"layer norm": {shapes: []tensor.Shape{s(3, 4), s(4), s(4)}, compute: func(t *autograd.Tape, v []*autograd.Value) *autograd.Value {
		return t.LayerNorm(v[0], v[1], v[2], autograd.NormOptions{Eps: 1e-5})
	}},
	"layer norm without bias": two(s(2, 2, 4), s(4), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		return t.LayerNorm(x, w, nil, autograd.NormOptions{Eps: 1e-5})
	}),
	"rms norm": two(s(3, 4), s(4), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		return t.RMSNorm(x, w, autograd.NormOptions{Eps: 1e-5})
	}),
	"layer norm beside what it is given": two(s(3, 4), s(4), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		sum := t.Add(x, t.Scale(x, 0.5))
		return t.Mul(sum, t.LayerNorm(sum, w, w, autograd.NormOptions{Eps: 1e-5}))
	}),
	"embedding": single(s(5, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
		return t.Embedding(x, whole(t, s(2, 2), 4, 0, 4, 2))
	}),
	"embedding of a table that is used again": single(s(5, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
		y := t.Embedding(x, whole(t, s(2, 2), 4, 0, 4, 2))
		return t.Linear(y, x, nil)
	}),
	"cross entropy": single(s(2, 2, 5), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
		return t.CrossEntropy(x, whole(t, s(2, 2), 4, 0, autograd.IgnoreIndex, 2))
	}),
	"cross entropy in steps": single(s(2, 2, 5), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
		return t.CrossEntropyInSteps(x, whole(t, s(2, 2), 4, 0, autograd.IgnoreIndex, 2))
	}),
	"convolution": {shapes: []tensor.Shape{s(2, 2, 5, 4), s(3, 2, 3, 2), s(3)}, compute: func(t *autograd.Tape, v []*autograd.Value) *autograd.Value {
		return t.Conv2D(v[0], v[1], v[2], autograd.Conv2DOptions{Stride: [2]int{2, 1}, Pad: [2]int{1, 0}})
	}},
	"convolution in groups": two(s(1, 4, 4, 4), s(2, 2, 2, 2), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		return t.Conv2D(x, w, nil, autograd.Conv2DOptions{Groups: 2, Dilate: [2]int{2, 1}})
	}),
	"a checkpoint": two(s(2, 3), s(4, 3), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		return t.Checkpoint(func(in []*autograd.Value) *autograd.Value {
			return t.Dropout(t.GELU(t.Linear(in[0], in[1], nil)), 0.3)
		}, x, w)
	}),
	"a checkpoint in a checkpoint": two(s(2, 3), s(3, 3), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		layer := func(in []*autograd.Value) *autograd.Value { return t.GELU(t.Linear(in[0], in[1], nil)) }
		return t.Checkpoint(func(in []*autograd.Value) *autograd.Value {
			return layer([]*autograd.Value{t.Checkpoint(layer, in...), in[1]})
		}, x, w)
	}),
	"a selective checkpoint": two(s(2, 3), s(4, 3), func(t *autograd.Tape, x, w *autograd.Value) *autograd.Value {
		keep := func(op, _ string) bool { return op == "linear" || op == "dropout" }
		return t.SelectiveCheckpoint(keep, func(in []*autograd.Value) *autograd.Value {
			return t.GELU(t.Dropout(t.GELU(t.Linear(in[0], in[1], nil)), 0.3))
		}, x, w)
	}),
	"a checkpoint of nothing": single(s(2, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
		y := t.Checkpoint(func(in []*autograd.Value) *autograd.Value { return in[0] }, t.Scale(x, 2))
		return t.Mul(y, y)
	}),
}

// everyOperation returns the operations of the table, every function of one
// number and every kind of attention.
func everyOperation() map[string]operation {
	all := map[string]operation{}
	maps.Copy(all, operations)
	for _, f := range device.UnaryOps() {
		o := single(s(2, 3), func(t *autograd.Tape, x *autograd.Value) *autograd.Value { return t.Unary(f, x) })
		if slices.Contains([]device.UnaryOp{device.Log, device.Sqrt, device.Rsqrt}, f) {
			o = positive(o)
		}
		all[f.String()] = o
	}
	for _, kind := range []device.AttentionKind{device.Naive, device.Chunked, device.Flash} {
		for _, causal := range []bool{false, true} {
			options := autograd.AttentionOptions{Kind: kind, Heads: 2, Causal: causal, Chunk: 2}
			name := fmt.Sprintf("%v attention, causal %v", kind, causal)
			all[name+", packed"] = single(s(2, 3, 12), func(t *autograd.Tape, x *autograd.Value) *autograd.Value {
				return t.AttentionPacked(x, options)
			})
			all[name] = operation{
				shapes: []tensor.Shape{s(2, 3, 4), s(2, 5, 4), s(2, 5, 4)},
				compute: func(t *autograd.Tape, v []*autograd.Value) *autograd.Value {
					return t.Attention(v[0], v[1], v[2], options)
				},
			}
		}
	}
	return all
}

func TestGradientsAreFiniteDifferences(t *testing.T) {
	for name, o := range everyOperation() {
		t.Run(name, func(t *testing.T) { checkGradient(t, o) })
	}
}

// named is a caster that converts nothing and notes the operations.
type named map[string]bool

func (n named) Cast(op string, _ []device.DType) (device.DType, bool) {
	n[op] = true
	return 0, false
}

func TestOperationsAreThoseThatRun(t *testing.T) {
	d, random := tensortest.Device(t), rand.New(rand.NewPCG(1, 2))
	ran := named{"cast": true} // of which casters are not asked
	for _, o := range everyOperation() {
		tape := autograd.NewTape(d, 1)
		tape.SetCaster(ran)
		var vars []*autograd.Variable
		var in []*autograd.Value
		for _, shape := range o.shapes {
			v := variable(d, random, shape, o.low, o.high)
			vars, in = append(vars, v), append(in, v.Value())
		}
		tape.Run(func() { o.compute(tape, in) })
		for _, v := range vars {
			v.Close()
		}
	}
	equal.Values(t, "operations", slices.Sorted(maps.Keys(ran)), autograd.Operations())
}

// checkGradient compares the gradient of Σ weights·output with central
// differences in float64.
func checkGradient(t *testing.T, o operation) {
	t.Helper()
	d := tensortest.Device(t)
	random := rand.New(rand.NewPCG(1, 2))
	vars := make([]*autograd.Variable, len(o.shapes))
	for i, shape := range o.shapes {
		vars[i] = variable(d, random, shape, o.low, o.high)
		defer vars[i].Close()
	}
	loss := func(backward bool) (result float64) {
		tape := autograd.NewTape(d, 7)
		tape.Run(func() {
			in := make([]*autograd.Value, len(vars))
			for i, v := range vars {
				in[i] = v.Value()
			}
			out := tape.SumAll(weighted(tape, o.compute(tape, in)))
			result = out.Data().Item()
			if backward {
				tape.Backward(out)
			}
		})
		return result
	}
	loss(true)
	for i, v := range vars {
		if v.Grad() == nil {
			t.Errorf("variable %d has no gradient", i)
			continue
		}
		compare(t, i, v, func() float64 { return loss(false) })
	}
}

func compare(t *testing.T, index int, v *autograd.Variable, loss func() float64) {
	t.Helper()
	const step = 1e-5
	values, got := v.Data().Floats(), v.Grad().Floats()
	for i, x := range values {
		at := func(moved float64) float64 {
			values[i] = moved
			tensor.Write(v.Data(), values)
			return loss()
		}
		want := (at(x+step) - at(x-step)) / (2 * step)
		at(x)
		if math.Abs(got[i]-want) > 1e-7*(1+math.Abs(want)) {
			t.Errorf("variable %d, element %d: gradient %v, by differences %v", index, i, got[i], want)
		}
	}
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

func variable(d *tensor.Device, random *rand.Rand, shape tensor.Shape, low, high float64) *autograd.Variable {
	if low == high {
		low, high = -1, 1
	}
	values := make([]float64, shape.Size())
	for i := range values {
		values[i] = low + (high-low)*random.Float64()
	}
	return autograd.NewVariable("x", tensor.From(d, values, shape, device.Float64, tensor.Tag{Category: trace.Parameter}))
}

func whole(t *autograd.Tape, shape tensor.Shape, values ...int) *autograd.Value {
	return t.Take(tensor.From(t.Device(), values, shape, device.Int32, tensor.Tag{Category: trace.Input}))
}

func s(extents ...int) tensor.Shape { return extents }

func single(x tensor.Shape, f func(t *autograd.Tape, x *autograd.Value) *autograd.Value) operation {
	return operation{shapes: []tensor.Shape{x}, compute: func(t *autograd.Tape, v []*autograd.Value) *autograd.Value {
		return f(t, v[0])
	}}
}

func two(x, y tensor.Shape, f func(t *autograd.Tape, x, y *autograd.Value) *autograd.Value) operation {
	return operation{shapes: []tensor.Shape{x, y}, compute: func(t *autograd.Tape, v []*autograd.Value) *autograd.Value {
		return f(t, v[0], v[1])
	}}
}

// positive keeps the variables away from where a function has a pole.
func positive(o operation) operation {
	o.low, o.high = 0.5, 2
	return o
}

func TestMixedTypesPromoteAndGradientsKeepTheirs(t *testing.T) {
	f32, f64, bf16, f16 := device.Float32, device.Float64, device.BFloat16, device.Float16
	tests := map[string]struct{ a, b, want device.DType }{
		"equal halves stay":    {bf16, bf16, bf16},
		"a half and a float":   {bf16, f32, f32},
		"a float and a half":   {f32, f16, f32},
		"two different halves": {bf16, f16, f32},
		"a float and a double": {f32, f64, f64},
		"a half and a double":  {f16, f64, f64},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			a := autograd.NewVariable("a", tensor.Full(d, tensor.Shape{2, 3}, test.a, 2, tensor.Tag{}))
			b := autograd.NewVariable("b", tensor.Full(d, tensor.Shape{3}, test.b, 4, tensor.Tag{}))
			defer a.Close()
			defer b.Close()
			tape := autograd.NewTape(d, 0)
			tape.Run(func() {
				y := tape.Mul(tape.Add(a.Value(), b.Value()), b.Value())
				if y.DType() != test.want || y.Data().Floats()[0] != 24 {
					t.Errorf("the result is %v of %v, want %v of 24", y.DType(), y.Data().Floats()[0], test.want)
				}
				tape.Backward(tape.SumAll(y))
			})
			for v, want := range map[*autograd.Variable]float64{a: 4, b: 20} { // Σ over the two rows for b
				if g := v.Grad(); g.DType() != v.Data().DType() || g.Floats()[0] != want {
					t.Errorf("the gradient of %s is %v of %v, want %v of %v",
						v.Name(), g.DType(), g.Floats()[0], v.Data().DType(), want)
				}
			}
		})
	}
}
