package autograd_test

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/tensor/tensortest"
)

var eps = autograd.NormOptions{Eps: 1e-5}

// metered returns a tape whose device counts operations.
func metered(t *testing.T) (*autograd.Tape, *dry.Meter) {
	t.Helper()
	a, err := alloc.New(dry.NewMemory(0), alloc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := new(dry.Meter)
	m.Backend = dry.Backend{}
	return autograd.NewTape(tensor.NewDevice("dry:0", a, m, tensor.Options{}), 1), m
}

func TestASumIsDoneWithTheNormThatFollowsIt(t *testing.T) {
	tape, m := metered(t)
	d := tape.Device()
	w := autograd.NewVariable("w", tensor.Full(d, tensor.Shape{4}, device.Float32, 1, tensor.Tag{}))
	tape.Run(func() {
		stream := tape.Scale(w.Value(), 1)
		branch := tape.Cast(tape.Scale(w.Value(), 2), device.BFloat16)
		m.Take()
		sum := tape.Add(stream, branch)
		y := tape.LayerNorm(sum, w.Value(), nil, eps)
		if n := m.Take()[dry.Operations]; n != 1 {
			t.Errorf("a sum and its norm are %v operations, want 1", n)
		}
		out := tape.SumAll(tape.Mul(sum, y))
		m.Take()
		tape.Backward(out)
		var work dry.Work
		if work = m.Take(); work[dry.Cast] != 4*2+4*4 {
			t.Errorf("casts of gradients move %v bytes, want only those of the branch's own cast", work[dry.Cast])
		}
	})
	w.Close()
}

// TestASumThatWaitsIsThereForWhoeverReadsIt compares with a sum that a norm does
// not follow at once.
func TestASumThatWaitsIsThereForWhoeverReadsIt(t *testing.T) {
	type read func(tape *autograd.Tape, sum, norm func() *autograd.Value) []float64
	tests := map[string]read{
		"its data": func(_ *autograd.Tape, sum, _ func() *autograd.Value) []float64 { return sum().Data().Floats() },
		"its data, and a norm": func(_ *autograd.Tape, sum, norm func() *autograd.Value) []float64 {
			return append(sum().Data().Floats(), norm().Data().Floats()...)
		},
		"a norm, and its data": func(_ *autograd.Tape, sum, norm func() *autograd.Value) []float64 {
			y := norm()
			return append(y.Data().Floats(), sum().Data().Floats()...)
		},
		"another operation": func(tape *autograd.Tape, sum, _ func() *autograd.Value) []float64 {
			return tape.Scale(sum(), 3).Data().Floats()
		},
		"a view of it": func(tape *autograd.Tape, sum, _ func() *autograd.Value) []float64 {
			return tape.Scale(tape.Transpose(sum(), 0, 1), 3).Data().Floats()
		},
	}
	d := tensortest.Device(t)
	w := autograd.NewVariable("w", tensor.From(d, []float64{1, -2, 3, 0.5, 4, 9}, tensor.Shape{3, 2}, device.Float64, tensor.Tag{}))
	g := autograd.NewVariable("g", tensor.From(d, []float64{0.7, -1.1}, tensor.Shape{2}, device.Float64, tensor.Tag{}))
	defer w.Close()
	defer g.Close()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			values := func(waits bool) (got []float64) {
				tape := autograd.NewTape(d, 0)
				tape.Run(func() {
					x := tape.Add(tape.Scale(w.Value(), 2), tape.Scale(w.Value(), 0.3))
					if !waits {
						x.Data()
					}
					got = test(tape, func() *autograd.Value { return x }, func() *autograd.Value { return tape.LayerNorm(x, g.Value(), g.Value(), eps) })
				})
				return got
			}
			if got, want := values(true), values(false); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestAnActivationIsDoneWithItsProductsBothWays(t *testing.T) {
	for name, watched := range map[string]bool{"alone": false, "while its gradient is watched": true} {
		t.Run(name, func(t *testing.T) {
			tape, m := metered(t)
			full := func(name string, shape ...int) *autograd.Variable {
				return autograd.NewVariable(name, tensor.Full(tape.Device(), shape, device.BFloat16, 1, tensor.Tag{}))
			}
			x, w, b, v := full("x", 8, 8), full("w", 16, 8), full("b", 16), full("v", 8, 16)
			tape.SetWatched(watched)
			tape.Run(func() {
				h := tape.GELUTanh(tape.LinearThen(x.Value(), w.Value(), b.Value()))
				if n := m.Take()[dry.Operations]; n != 5 { // four are the variables'
					t.Errorf("a product, its bias and its activation are %v operations, want 1", n-4)
				}
				out := tape.SumAll(tape.Linear(h, v.Value(), nil))
				m.Take()
				tape.Backward(out)
				want := 2.0 + 4 // the sum's gradient, and two products for each layer
				if watched {
					want++
				}
				if n := m.Take()[dry.Operations]; n != want {
					t.Errorf("the backward pass is %v operations, want %v", n, want)
				}
			})
			for _, leaf := range []*autograd.Variable{x, w, b, v} {
				leaf.Close()
			}
		})
	}
}

func TestWhatIsDoneWithAProductHasTheBitsOfTwoOperations(t *testing.T) {
	d := tensortest.Device(t)
	for _, dtype := range []device.DType{device.Float32, device.BFloat16, device.Float16} {
		for _, f := range []device.UnaryOp{device.GELUTanh, device.GELU, device.SiLU, device.ReLU} {
			t.Run(dtype.String()+", "+f.String(), func(t *testing.T) {
				run := func(together bool) (values [][]float64) {
					var leaves []*autograd.Variable
					leaf := func(shape ...int) *autograd.Value {
						x := tensor.New(d, shape, dtype, tensor.Tag{})
						d.Backend().Normal(x.Array(), 0, 1, device.Seed{Seed: uint64(len(leaves))})
						leaves = append(leaves, autograd.NewVariable("leaf", x))
						return leaves[len(leaves)-1].Value()
					}
					x, w, b, v := leaf(37, 19), leaf(45, 19), leaf(45), leaf(23, 45)
					tape := autograd.NewTape(d, 0)
					linear := tape.Linear
					if together {
						linear = tape.LinearThen
					}
					tape.SetWatched(!together)
					tape.Run(func() {
						y := tape.Linear(tape.Unary(f, linear(x, w, b)), v, nil)
						values = append(values, y.Data().Floats())
						tape.Backward(tape.SumAll(tape.Mul(y, y)))
					})
					for _, leaf := range leaves {
						values = append(values, leaf.Grad().Floats())
						leaf.Close()
					}
					return values
				}
				want := run(false)
				for i, got := range run(true) {
					if !slices.Equal(got, want[i]) {
						t.Errorf("value %d differs", i)
					}
				}
			})
		}
	}
}
