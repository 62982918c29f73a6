package autograd_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

func everyLayer(string) bool { return true }

// TestEveryGradientIsTheSameFromTheHost runs every operation, directly and in a
// checkpoint: with everything on the device, and with variables, their gradients and
// what is saved on the host, or the operation itself, or all of it.
func TestEveryGradientIsTheSameFromTheHost(t *testing.T) {
	for name, o := range operations {
		t.Run(name, func(t *testing.T) {
			want, _ := gradientsOf(t, o, false, false)
			for _, where := range [][2]bool{{true, false}, {false, true}, {true, true}} {
				got, left := gradientsOf(t, o, where[0], where[1])
				equal.Values(t, fmt.Sprintf("tensors on the host %v, operations %v: gradients", where[0], where[1]), want, got)
				if where[0] && left != 0 {
					t.Errorf("%d bytes are left on the device", left)
				}
			}
		})
	}
}

// gradientsOf returns the gradients of two passes, one of them of a checkpoint,
// and what is on the device afterwards.
func gradientsOf(t *testing.T, o operation, onHost, computes bool) (grads [][]float64, left int64) {
	t.Helper()
	d := tensortest.Device(t)
	random := rand.New(rand.NewPCG(1, 2))
	tape := autograd.NewTape(d, 7)
	vars := make([]*autograd.Variable, len(o.shapes))
	in := make([]*autograd.Value, len(vars))
	for i, shape := range o.shapes {
		vars[i] = variable(d, random, shape, o.low, o.high)
		defer vars[i].Close()
		in[i] = vars[i].Value()
		if onHost {
			vars[i].Move(d.Host())
			vars[i].KeepGrad(d.Host())
		}
	}
	if onHost {
		tape.OffloadSaved(everyLayer)
	}
	compute := func(in []*autograd.Value) *autograd.Value {
		if computes {
			defer tape.SetDevice(tape.SetDevice(d.Host()))
		}
		return o.compute(tape, in)
	}
	tape.Run(func() { tape.Backward(tape.SumAll(weighted(tape, compute(in)))) })
	tape.Run(func() {
		out := tape.Checkpoint(compute, in...)
		tape.Backward(tape.SumAll(weighted(tape, out)))
	})
	for _, v := range vars {
		grads = append(grads, v.Grad().Floats())
	}
	return grads, d.Live()
}

// TestAParameterOfBothDevicesHasOneGradient reads a parameter on the device and on the
// host, in both orders, by rules that add to a gradient in each way.
func TestAParameterOfBothDevicesHasOneGradient(t *testing.T) {
	uses := map[string]func(tape *autograd.Tape, w *autograd.Value) *autograd.Value{
		"a product": func(tape *autograd.Tape, w *autograd.Value) *autograd.Value { return tape.MatMul(w, w) },
		"rows": func(tape *autograd.Tape, w *autograd.Value) *autograd.Value {
			return tape.Embedding(w, tape.Take(tensor.From(tape.Device(), []int32{1, 3, 3, 0}, tensor.Shape{4}, device.Int32, tensor.Tag{})))
		},
		"a norm": func(tape *autograd.Tape, w *autograd.Value) *autograd.Value {
			return tape.RMSNorm(w, tape.Take(tensor.Full(tape.Device(), tensor.Shape{4}, device.Float32, 2, tensor.Tag{})), autograd.NormOptions{Eps: 1e-5})
		},
	}
	for first := range uses {
		for second := range uses {
			t.Run(first+" and "+second, func(t *testing.T) {
				d := tensortest.Device(t)
				gradient := func(places ...*tensor.Device) []float64 {
					w := variable(d, rand.New(rand.NewPCG(1, 2)), tensor.Shape{4, 4}, -1, 1)
					defer w.Close()
					tape := autograd.NewTape(d, 1)
					tape.Run(func() {
						var list []*autograd.Value
						for i, name := range []string{first, second} {
							before := tape.SetDevice(places[i])
							y := uses[name](tape, w.Value())
							list = append(list, tape.SumAll(tape.Mul(y, y)))
							tape.SetDevice(before)
						}
						tape.Backward(tape.Add(list[0], list[1]))
					})
					return w.Grad().Floats()
				}
				want := gradient(d, d)
				for _, places := range [][]*tensor.Device{{d, d.Host()}, {d.Host(), d}} {
					equal.Values(t, fmt.Sprintf("on %s and %s: gradient", places[0].Name(), places[1].Name()), want, gradient(places...))
				}
			})
		}
	}
}

// TestWhatIsSavedWaitsOnTheHost looks at both memories between the passes. Two
// operations save the same tensor, and one of them uses only a part of it.
func TestWhatIsSavedWaitsOnTheHost(t *testing.T) {
	d := tensortest.Device(t)
	v := autograd.NewVariable("v", tensor.Full(d, tensor.Shape{1024}, device.Float32, 3, tensor.Tag{Category: trace.Parameter}))
	defer v.Close()
	tape := autograd.NewTape(d, 1)
	tape.OffloadSaved(func(layer string) bool { return layer == "chosen" })
	before := d.Live()
	tape.Run(func() {
		square := func(layer string) *autograd.Value {
			tape.SetLayer(layer)
			return tape.Frame(func() *autograd.Value {
				x := tape.Scale(v.Value(), 2)
				half := tape.Narrow(x, 0, 0, 512)
				return tape.Add(tape.SumAll(tape.Mul(x, x)), tape.SumAll(tape.Mul(half, half)))
			})
		}
		sum := tape.Add(square("chosen"), square("other"))
		d.Land()
		activations := d.Memory().Stats().Category[trace.Activation].Current
		away := d.HostMemory().Stats().Category[trace.Activation].Current
		if activations != 4096 || away != 4096 {
			t.Errorf("%d bytes are saved on the device and %d on the host, want 4096 each", activations, away)
		}
		tape.Backward(sum)
	})
	// Of 2·(Σ (2v)² + Σ over the first half of (2v)²).
	if got := v.Grad().Floats(); got[0] != 2*2*8*3 || got[1023] != 2*8*3 {
		t.Errorf("gradients %v and %v, want 96 and 48", got[0], got[1023])
	}
	v.ZeroGrad()
	if got := d.Live(); got != before {
		t.Errorf("%d bytes are live at the end, want %d", got, before)
	}
}

// ordered is a device's backend that notes when weights come and are used.
type ordered struct {
	device.Backend
	order *[]string
}

func (o ordered) Receive(dst, src device.Buffer) device.Crossing {
	*o.order = append(*o.order, "fetch")
	return o.Backend.Receive(dst, src)
}

func (o ordered) MatMul(p device.MatMulPlan) {
	*o.order = append(*o.order, "product")
	o.Backend.MatMul(p)
}

func (o ordered) OpenHost() (alloc.Driver, device.Backend, error) {
	return o.Backend.(interface {
		OpenHost() (alloc.Driver, device.Backend, error)
	}).OpenHost()
}

// TestWeightsComeAheadOfTheirUse looks at the order of two forward passes: the
// first one does not know yet what comes next.
func TestWeightsComeAheadOfTheirUse(t *testing.T) {
	plain := tensortest.Device(t)
	var order []string
	d := tensor.NewDevice("ordered", plain.Memory(), ordered{plain.Backend(), &order}, tensor.Options{})
	var weights []*autograd.Variable
	for range 3 {
		w := autograd.NewVariable("w", tensor.Full(d.Host(), tensor.Shape{4, 4}, device.Float32, 1, tensor.Tag{}))
		defer w.Close()
		weights = append(weights, w)
	}
	tape := autograd.NewTape(d, 1)
	for _, want := range []string{
		"fetch product fetch product fetch product",
		"fetch fetch product fetch product product",
	} {
		order = nil
		tape.Run(func() {
			x := tape.Take(tensor.Full(d, tensor.Shape{2, 4}, device.Float32, 1, tensor.Tag{}))
			for _, w := range weights {
				x = tape.Linear(x, w.Value(), nil)
				tape.DropFetched()
			}
		})
		if got := strings.Join(order, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestRowsAreLookedUpWhereTheTableIs compares what a lookup takes of the device
// with the bytes of the table and of the rows.
func TestRowsAreLookedUpWhereTheTableIs(t *testing.T) {
	const rows, cols = 64, 16
	for name, test := range map[string]struct{ ids, want int }{
		"fewer rows than the table has": {8, 8 * cols * 4},
		"more":                          {100, (rows + 100) * cols * 4},
	} {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			values := make([]float32, rows*cols)
			for i := range values {
				values[i] = float32(i / cols)
			}
			table := autograd.NewVariable("w", tensor.From(d.Host(), values, tensor.Shape{rows, cols}, device.Float32, tensor.Tag{}))
			defer table.Close()
			tape := autograd.NewTape(d, 1)
			tape.Run(func() {
				ids := make([]int32, test.ids)
				for i := range ids {
					ids[i] = int32(i * 7 % rows)
				}
				x := tape.Take(tensor.From(d, ids, tensor.Shape{test.ids}, device.Int32, tensor.Tag{}))
				before := d.Live()
				d.Enter()
				y := tape.Embedding(table.Value(), x)
				if took := d.Leave() - before; took != int64(test.want) {
					t.Errorf("it took %d bytes of the device, want %d", took, test.want)
				}
				for i, got := range y.Data().Floats() {
					if want := float64(ids[i/cols]); got != want {
						t.Fatalf("element %d is %v, want %v", i, got, want)
					}
				}
			})
		})
	}
}
