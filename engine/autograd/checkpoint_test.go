package autograd_test

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// stack is six layers of product, dropout and GELU, checkpointed or not.
func stack(checkpoint func(t *autograd.Tape, f func([]*autograd.Value) *autograd.Value, x *autograd.Value) *autograd.Value,
) func(t *autograd.Tape, w *autograd.Value) *autograd.Value {
	return func(t *autograd.Tape, w *autograd.Value) *autograd.Value {
		x := t.Scale(w, 1)
		for range 6 {
			layer := func(in []*autograd.Value) *autograd.Value {
				return t.GELU(t.Dropout(t.Linear(in[0], w, nil), 0.2))
			}
			y := checkpoint(t, layer, x)
			t.Done(x)
			x = y
		}
		return t.SumAll(x)
	}
}

type checkpointer func(t *autograd.Tape, f func([]*autograd.Value) *autograd.Value, x *autograd.Value) *autograd.Value

var checkpointers = map[string]checkpointer{
	"without": func(t *autograd.Tape, f func([]*autograd.Value) *autograd.Value, x *autograd.Value) *autograd.Value {
		return t.Frame(func() *autograd.Value { return f([]*autograd.Value{x}) })
	},
	"whole": func(t *autograd.Tape, f func([]*autograd.Value) *autograd.Value, x *autograd.Value) *autograd.Value {
		return t.Checkpoint(f, x)
	},
	"nested": func(t *autograd.Tape, f func([]*autograd.Value) *autograd.Value, x *autograd.Value) *autograd.Value {
		return t.Checkpoint(func(in []*autograd.Value) *autograd.Value { return t.Checkpoint(f, in...) }, x)
	},
	"keeping products": func(t *autograd.Tape, f func([]*autograd.Value) *autograd.Value, x *autograd.Value) *autograd.Value {
		return t.SelectiveCheckpoint(func(op, _ string) bool { return op == "linear" }, f, x)
	},
	"keeping dropout": func(t *autograd.Tape, f func([]*autograd.Value) *autograd.Value, x *autograd.Value) *autograd.Value {
		return t.SelectiveCheckpoint(func(op, _ string) bool { return op == "dropout" }, f, x)
	},
	"keeping everything": func(t *autograd.Tape, f func([]*autograd.Value) *autograd.Value, x *autograd.Value) *autograd.Value {
		return t.SelectiveCheckpoint(func(string, string) bool { return true }, f, x)
	},
}

func TestCheckpointsGiveTheSameBits(t *testing.T) {
	loss, gradient, saved := map[string]float64{}, map[string][]float64{}, map[string]int64{}
	for name, c := range checkpointers {
		d := tensortest.Device(t)
		w := square(t, d, "w")
		tape := autograd.NewTape(d, 11)
		for range 2 { // the second run continues the random sequence
			tape.Run(func() {
				out := stack(c)(tape, w.Value())
				loss[name] += out.Data().Item()
				_, _, saved[name], _ = categories(d)
				tape.Backward(out)
			})
		}
		gradient[name] = w.Grad().Floats()
		w.ZeroGrad()
	}
	for name := range checkpointers {
		if loss[name] != loss["without"] {
			t.Errorf("%s: loss %v, without a checkpoint %v", name, loss[name], loss["without"])
		}
		alike := slices.EqualFunc(gradient[name], gradient["without"], func(a, b float64) bool {
			return a-b < 1e-5*(1+max(a, -a)) && b-a < 1e-5*(1+max(a, -a))
		})
		if !alike {
			t.Errorf("%s: the gradient differs", name)
		}
	}
	// Of six layers: what the product and what GELU reads; with checkpoints the
	// input, and what is kept. The last result is kept only with everything.
	want := map[string]int64{"without": 12, "whole": 6, "nested": 6, "keeping products": 12, "keeping dropout": 12, "keeping everything": 19}
	for name, n := range want {
		if saved[name] != n*kilobyte {
			t.Errorf("%s: %d bytes saved after the forward pass, want %d", name, saved[name], n*kilobyte)
		}
	}
}

func TestARecomputationReturnsToItsPlaceInTheRandomSequence(t *testing.T) {
	d := tensortest.Device(t)
	w := square(t, d, "w")
	defer w.ZeroGrad()
	tape := autograd.NewTape(d, 11)
	tape.Run(func() {
		out := stack(checkpointers["whole"])(tape, w.Value())
		before := tape.Random()
		tape.Backward(out)
		if after := tape.Random(); after != before {
			t.Errorf("random numbers continue at %v after the backward pass, at %v before it", after, before)
		}
	})
}

func TestARecomputationIsAPhaseOfItsOwn(t *testing.T) {
	d := tensortest.Device(t)
	w := square(t, d, "w")
	defer w.ZeroGrad()
	tape := autograd.NewTape(d, 0)
	var phases []autograd.Phase
	tape.Run(func() {
		tape.Backward(tape.Checkpoint(func(in []*autograd.Value) *autograd.Value {
			phases = append(phases, tape.Phase())
			tape.Mark(func() { phases = append(phases, tape.Phase()) })
			return tape.SumAll(tape.GELU(in[0]))
		}, w.Value()))
	})
	if want := []autograd.Phase{autograd.Forward, autograd.Recompute, autograd.Backward}; !slices.Equal(phases, want) {
		t.Errorf("phases %v, want %v", phases, want)
	}
}

func TestACheckpointRetagsItsInput(t *testing.T) {
	d := tensortest.Device(t)
	w := square(t, d, "w")
	tape := autograd.NewTape(d, 0)
	tape.Run(func() {
		tape.SetLayer("h.0")
		x := tape.Scale(w.Value(), 2)
		tape.SetLayer("h.1")
		tape.Checkpoint(func(in []*autograd.Value) *autograd.Value { return tape.GELU(in[0]) }, x)
		got := x.Data().Storage().Label()
		want := alloc.Label{
			Category: trace.Activation, Layer: "h.1", Role: "scale output of h.0",
			Shape: tensor.Shape{16, 16}.String(), DType: "float32",
		}
		if got != want {
			t.Errorf("the input is labelled %+v, want %+v", got, want)
		}
	})
}
