package autograd_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/tensor/tensortest"
)

func TestChangesInPlaceThatBreakAGradientAreRefused(t *testing.T) {
	tests := map[string]struct {
		do   func(tape *autograd.Tape, w *autograd.Value)
		want string // part of the panic; "" when it is allowed
	}{
		"a saved operand is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			y := tape.GELU(x)
			tape.AddInPlace(x, x)
			tape.Backward(tape.SumAll(y))
		}, "gradient of gelu needs, was changed in place"},
		"a saved result is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			y := tape.Softmax(tape.Scale(w, 2))
			tape.ReLUInPlace(y)
			tape.Backward(tape.SumAll(y))
		}, "gradient of softmax needs, was changed in place"},
		"a saved variable is changed without recording": {func(tape *autograd.Tape, w *autograd.Value) {
			y := tape.SumAll(tape.GELU(w))
			tape.NoGrad(func() { tape.FillInPlace(w, 1) })
			tape.Backward(y)
		}, "gradient of gelu needs, was changed in place"},
		"an input of a checkpoint is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			y := tape.Checkpoint(func(in []*autograd.Value) *autograd.Value { return tape.GELU(in[0]) }, x)
			tape.AddInPlace(x, x)
			tape.Backward(tape.SumAll(y))
		}, "gradient of checkpoint needs, was changed in place"},
		"a variable is changed while recording": {func(tape *autograd.Tape, w *autograd.Value) {
			tape.FillInPlace(w, 0)
		}, "variable w"},
		"a view of another value is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			tape.ReLUInPlace(tape.View(x, -1))
		}, "shares its memory"},
		"a value with a view is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			tape.View(x, -1)
			tape.ReLUInPlace(x)
		}, "shares its memory"},
		"a repeated view is written": {func(tape *autograd.Tape, w *autograd.Value) {
			tape.NoGrad(func() { tape.ReLUInPlace(tape.Expand(w, 2, 16, 16)) })
		}, "not a block of its own"},
		"a factor needs what is overwritten": {func(tape *autograd.Tape, w *autograd.Value) {
			tape.MulInPlace(tape.Scale(w, 2), w)
		}, "would be overwritten"},
		"a larger shape is added": {func(tape *autograd.Tape, w *autograd.Value) {
			tape.AddInPlace(tape.Sum(w, 0, 0), w)
		}, "[16, 16] added in place to [16]"},

		"nothing saved is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			tape.AddInPlace(x, w)
			tape.Backward(tape.SumAll(x))
		}, ""},
		"a saved value is changed after its rule has run": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			tape.Backward(tape.SumAll(tape.GELU(x)))
			tape.NoGrad(func() { tape.AddInPlace(x, x) })
		}, ""},
		"a variable is changed without recording before its use": {func(tape *autograd.Tape, w *autograd.Value) {
			tape.NoGrad(func() { tape.FillInPlace(w, 1) })
			tape.Backward(tape.SumAll(tape.GELU(w)))
		}, ""},
		"a view without a gradient is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Detach(tape.Scale(w, 2))
			tape.ReLUInPlace(tape.View(x, -1))
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			w := square(t, d, "w")
			defer w.ZeroGrad()
			defer func() {
				text, _ := recover().(string)
				if (text == "") != (test.want == "") || !strings.Contains(text, test.want) {
					t.Errorf("panic says %q, want %q", text, test.want)
				}
			}()
			tape := autograd.NewTape(d, 0)
			tape.Run(func() { test.do(tape, w.Value()) })
		})
	}
}
