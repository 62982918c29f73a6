package autograd_test

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// activated returns f(x·wᵀ + b), done as one operation.
func activated(tape *autograd.Tape, f device.UnaryOp, x, w, b *autograd.Value) *autograd.Value {
	tape.SetActivated(true)
	h := tape.Linear(x, w, b)
	tape.SetActivated(false)
	return tape.Unary(f, h)
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
				h := activated(tape, device.GELUTanh, x.Value(), w.Value(), b.Value())
				if n := m.take(); n != 5 { // four are the variables'
					t.Errorf("a product, its bias and its activation are %v operations, want 1", n-4)
				}
				out := tape.SumAll(tape.Linear(h, v.Value(), nil))
				m.take()
				tape.Backward(out)
				want := 2 + 4 // the sum's gradient, and two products for each layer
				if watched {
					want++
				}
				if n := m.take(); n != want {
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
		for _, f := range []device.UnaryOp{device.GELUTanh, device.GELU, device.SiLU, device.ReLU, device.Neg} {
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
					hidden := func() *autograd.Value {
						if together {
							return activated(tape, f, x, w, b)
						}
						return tape.Unary(f, tape.Linear(x, w, b))
					}
					tape.SetWatched(!together)
					tape.Run(func() {
						y := tape.Linear(hidden(), v, nil)
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

func TestAProductThatIsGivenUpLeavesNothing(t *testing.T) {
	d := tensortest.Device(t)
	w := square(t, d, "w")
	before := d.Live()
	tape := autograd.NewTape(d, 0)
	tape.Run(func() {
		tape.SetActivated(true)
		tape.Linear(w.Value(), w.Value(), nil)
	})
	if got := d.Live(); got != before {
		t.Errorf("%d bytes live, want %d", got, before)
	}
}
