package autograd_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

const kilobyte = 1024 // the bytes of every float32 [16, 16] below

func square(t *testing.T, d *tensor.Device, name string) *autograd.Variable {
	t.Helper()
	values := make([]float32, 256)
	for i := range values {
		values[i] = float32(i%7) / 7
	}
	v := autograd.NewVariable(name, tensor.From(d, values, tensor.Shape{16, 16}, device.Float32,
		tensor.Tag{Category: trace.Parameter, Layer: "l", Role: name}))
	t.Cleanup(v.Close)
	return v
}

func categories(d *tensor.Device) (parameter, gradient, activation, workspace int64) {
	c := d.Memory().Stats().Category
	return c[trace.Parameter].Current, c[trace.Gradient].Current, c[trace.Activation].Current, c[trace.Workspace].Current
}

func TestWhatIsSavedIsAnActivationUntilItsRuleHasRun(t *testing.T) {
	d := tensortest.Device(t)
	w := square(t, d, "w")
	tape := autograd.NewTape(d, 0)
	var saved int64
	tape.OnSave(func(layer string, bytes int64) {
		if layer != "h.0" {
			t.Errorf("saved by layer %q, want h.0", layer)
		}
		saved += bytes
	})
	tape.Run(func() {
		tape.SetLayer("h.0")
		loss := tape.Frame(func() *autograd.Value {
			x := tape.Scale(w.Value(), 2)      // saves nothing
			y := tape.GELU(x)                  // saves x
			return tape.SumAll(tape.Mul(y, y)) // saves y, once
		})
		p, g, a, k := categories(d)
		if p != kilobyte || g != 0 || a != 2*kilobyte || k != 4 {
			t.Errorf("after the forward pass: parameters %d, gradients %d, activations %d, workspace %d; want %d, 0, %d, 4",
				p, g, a, k, kilobyte, 2*kilobyte)
		}
		if saved != 2*kilobyte {
			t.Errorf("%d bytes are reported saved, want %d", saved, 2*kilobyte)
		}
		tape.Backward(loss)
		p, g, a, _ = categories(d)
		if p != kilobyte || g != kilobyte || a != 0 {
			t.Errorf("after the backward pass: parameters %d, gradients %d, activations %d; want %d, %d, 0",
				p, g, a, kilobyte, kilobyte)
		}
	})
	if got := d.Live(); got != 2*kilobyte {
		t.Errorf("after the run %d bytes live, want variable and gradient, %d", got, 2*kilobyte)
	}
}

func TestAFailureLeavesNothingBehind(t *testing.T) {
	const capacity = 64 << 20
	tests := map[string]func(tape *autograd.Tape, x *autograd.Value){
		"in the forward pass": func(tape *autograd.Tape, x *autograd.Value) {
			for range 100 {
				x = tape.ReLU(x)
			}
		},
		"in a frame": func(tape *autograd.Tape, x *autograd.Value) {
			tape.Frame(func() *autograd.Value {
				for range 100 {
					x = tape.ReLU(x)
				}
				return x
			})
		},
		"in the backward pass": func(tape *autograd.Tape, x *autograd.Value) {
			loss := tape.Frame(func() *autograd.Value {
				for range 5 {
					x = tape.ReLU(x)
				}
				return tape.SumAll(x)
			})
			tape.Backward(loss)
		},
		"in a recomputation": func(tape *autograd.Tape, x *autograd.Value) {
			loss := tape.Frame(func() *autograd.Value {
				return tape.SumAll(tape.Checkpoint(func(in []*autograd.Value) *autograd.Value {
					y := in[0]
					for range 100 {
						z := tape.ReLU(y)
						if y != in[0] {
							tape.Done(y)
						}
						y = z
					}
					return y
				}, x))
			})
			tape.Backward(loss)
		},
	}
	for name, compute := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.DeviceOf(t, capacity)
			w := autograd.NewVariable("w", tensor.Full(d, tensor.Shape{2 << 20}, device.Float32, 1, tensor.Tag{}))
			defer w.Close()
			tape := autograd.NewTape(d, 0)
			for range 2 { // a second time: the tape is usable again
				err := tensor.Try(func() { tape.Run(func() { compute(tape, w.Value()) }) })
				var oom *alloc.OOMError
				if !errors.As(err, &oom) {
					t.Fatalf("got %v, want an *alloc.OOMError", err)
				}
				if within := strings.HasPrefix(err.Error(), "allocate grad of"); within != (name == "in the backward pass") {
					t.Errorf("it failed at %v", err)
				}
				if got, want := d.Live(), w.Data().Bytes(); got != want {
					t.Fatalf("%d bytes live after the failure, want the variable's %d", got, want)
				}
			}
		})
	}
}

func TestWhatTheDeviceRefusesIsAnErrorWhenAValueIsRead(t *testing.T) {
	tests := map[string]struct {
		do   func(tape *autograd.Tape, w *autograd.Value) *autograd.Value
		want string
	}{
		"a token that is not in the table": {func(tape *autograd.Tape, w *autograd.Value) *autograd.Value {
			return tape.SumAll(tape.Embedding(w, whole(tape, s(2), 3, 99)))
		}, "99"},
		"a target that is no class": {func(tape *autograd.Tape, w *autograd.Value) *autograd.Value {
			return tape.CrossEntropy(tape.Narrow(w, 0, 0, 2), whole(tape, s(2), 3, 77))
		}, "77"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.FailingDevice(t)
			w := square(t, d, "w")
			tape := autograd.NewTape(d, 0)
			err := tensor.Try(func() { tape.Run(func() { test.do(tape, w.Value()).Data().Item() }) })
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line that names %s", err, test.want)
			}
			if got := d.Live(); got != kilobyte {
				t.Errorf("%d bytes live, want %d", got, kilobyte)
			}
		})
	}
}

func TestGradientHooksRunOnceAPassAfterTheLastUse(t *testing.T) {
	d := tensortest.Device(t)
	w, u := square(t, d, "w"), square(t, d, "u")
	var order []string
	hook := func(v *autograd.Variable) { order = append(order, v.Name()) }
	w.OnGrad(hook)
	u.OnGrad(hook)
	u.OnGrad(func(v *autograd.Variable) {
		order = append(order, "u again")
		v.ZeroGrad() // a hook may use the gradient up
	})
	tape := autograd.NewTape(d, 0)
	tape.Run(func() {
		x := tape.Mul(w.Value(), w.Value())
		x = tape.Mul(tape.Mul(x, u.Value()), w.Value())
		tape.Backward(tape.SumAll(x))
	})
	if got, want := strings.Join(order, ", "), "u, u again, w"; got != want {
		t.Errorf("hooks ran %s; want %s", got, want)
	}
	if u.Grad() != nil {
		t.Error("the gradient that its hook released is there")
	}
}

func TestFrozenVariablesAndNoGradRecordNothing(t *testing.T) {
	d := tensortest.Device(t)
	w, u := square(t, d, "w"), square(t, d, "u")
	u.SetFrozen(true)
	tape := autograd.NewTape(d, 0)
	tape.Run(func() {
		var apart *autograd.Value
		tape.NoGrad(func() { apart = tape.Scale(w.Value(), 2) })
		tape.Backward(tape.SumAll(tape.Add(tape.Mul(w.Value(), u.Value()), apart)))
	})
	if !slices.Equal(w.Grad().Floats(), u.Data().Floats()) || u.Grad() != nil {
		t.Errorf("gradients of w and the frozen u: %v, %v; want u and none", w.Grad().Floats(), u.Grad())
	}
}

func TestMistakesOfTheCallerPanic(t *testing.T) {
	d := tensortest.Device(t)
	w := square(t, d, "w")
	small := variable(d, rand.New(rand.NewPCG(1, 1)), tensor.Shape{3, 5}, 0, 1)
	defer small.Close()
	tests := map[string]struct {
		do   func(tape *autograd.Tape)
		want []string
	}{
		"shapes that do not add": {func(tape *autograd.Tape) { tape.Add(w.Value(), small.Value()) }, []string{"[16, 16]", "[3, 5]"}},
		"matrices that do not multiply": {
			func(tape *autograd.Tape) { tape.MatMul(w.Value(), small.Value()) },
			[]string{"matmul", "[16, 16]", "[3, 5]"},
		},
		"a weight of another width": {
			func(tape *autograd.Tape) { tape.Linear(w.Value(), small.Value(), nil) },
			[]string{"linear", "[16, 16]", "[3, 5]"},
		},
		"an image of too few channels": {func(tape *autograd.Tape) {
			tape.Conv2D(tape.View(w.Value(), 1, 1, 16, 16), tape.View(w.Value(), 16, 4, 2, 2), nil, autograd.Conv2DOptions{})
		}, []string{"conv2d", "[1, 1, 16, 16]", "[16, 4, 2, 2]"}},
		"a kernel larger than the image": {func(tape *autograd.Tape) {
			tape.Conv2D(tape.View(w.Value(), 16, 1, 4, 4), tape.View(w.Value(), 1, 1, 16, 16), nil, autograd.Conv2DOptions{})
		}, []string{"conv2d", "leaves nothing"}},
		"a scale of another width": {
			func(tape *autograd.Tape) {
				tape.LayerNorm(small.Value(), w.Value(), nil, autograd.NormOptions{Eps: 1e-5})
			},
			[]string{"layer_norm", "[3, 5]", "[16, 16]"},
		},
		"fractions as row numbers": {
			func(tape *autograd.Tape) { tape.Embedding(w.Value(), small.Value()) },
			[]string{"embedding", "float64 [3, 5]"},
		},
		"targets for other rows": {
			func(tape *autograd.Tape) { tape.CrossEntropy(w.Value(), whole(tape, s(3), 1, 2, 3)) },
			[]string{"cross_entropy", "[16, 16]", "int32 [3]"},
		},
		"a backward pass from many numbers": {func(tape *autograd.Tape) { tape.Backward(tape.GELU(w.Value())) }, []string{"[16, 16]"}},
		"a second backward pass": {func(tape *autograd.Tape) {
			y := tape.SumAll(w.Value())
			tape.Backward(y)
			tape.Backward(y)
		}, []string{"an earlier backward pass"}},
		"a value that its frame released": {func(tape *autograd.Tape) {
			var inner *autograd.Value
			tape.Frame(func() *autograd.Value {
				inner = tape.Scale(w.Value(), 2)
				return tape.Scale(inner, 2)
			})
			tape.Scale(inner, 2)
		}, []string{"released before"}},
		"heads that do not divide the width": {func(tape *autograd.Tape) {
			tape.AttentionPacked(tape.View(w.Value(), 1, 16, 16), autograd.AttentionOptions{Heads: 3})
		}, []string{"[1, 16, 16]", "3 heads"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				text, _ := recover().(string)
				for _, want := range test.want {
					if !strings.Contains(text, want) {
						t.Errorf("panic says %q, want it to mention %q", text, want)
					}
				}
			}()
			tape := autograd.NewTape(d, 0)
			tape.Run(func() { test.do(tape) })
		})
	}
	w.ZeroGrad()
}
