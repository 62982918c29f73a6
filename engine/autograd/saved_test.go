package autograd_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
)

func TestChangesThatBreakAGradientAreRefused(t *testing.T) {
	tests := map[string]struct {
		do   func(tape *autograd.Tape, w *autograd.Value)
		want string // part of the panic; "" when it is allowed
	}{
		"a saved operand is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			y := tape.GELU(x)
			x.Data().Fill(1)
			tape.Backward(tape.SumAll(y))
		}, "gradient of gelu needs, was changed in place"},
		"a saved result is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			y := tape.Softmax(tape.Scale(w, 2))
			y.Data().Fill(1)
			tape.Backward(tape.SumAll(y))
		}, "gradient of softmax needs, was changed in place"},
		"a saved variable is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			y := tape.SumAll(tape.GELU(w))
			w.Data().Fill(1)
			tape.Backward(y)
		}, "gradient of gelu needs, was changed in place"},
		"an input of a checkpoint is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			y := tape.Checkpoint(func(in []*autograd.Value) *autograd.Value { return tape.GELU(in[0]) }, x)
			x.Data().Fill(1)
			tape.Backward(tape.SumAll(y))
		}, "gradient of checkpoint needs, was changed in place"},

		"nothing saved is changed": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			x.Data().Fill(1)
			tape.Backward(tape.SumAll(x))
		}, ""},
		"a saved value is changed after its rule has run": {func(tape *autograd.Tape, w *autograd.Value) {
			x := tape.Scale(w, 2)
			tape.Backward(tape.SumAll(tape.GELU(x)))
			x.Data().Fill(1)
		}, ""},
		"a variable is changed before its use": {func(tape *autograd.Tape, w *autograd.Value) {
			w.Data().Fill(1)
			tape.Backward(tape.SumAll(tape.GELU(w)))
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
