package autograd_test

import (
	"math"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
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

// TestTheGradientOfLogitsTakesTheirPlace looks where it is right after the rule of a
// cross-entropy.
func TestTheGradientOfLogitsTakesTheirPlace(t *testing.T) {
	const rows, classes = 8, 500
	tests := map[string]struct {
		before, after func(tape *autograd.Tape, logits *autograd.Value) // the loss
		taken         bool
	}{
		"where nothing else needs them": {nothing, (*autograd.Tape).Done, true},
		"not where their owner does":    {nothing, nothing, false},
		"not where another rule does": {
			func(tape *autograd.Tape, logits *autograd.Value) { tape.Done(tape.Unary(device.Square, logits)) }, (*autograd.Tape).Done, false,
		},
	}
	var want []float64
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			values, targets := make([]float64, rows*classes), make([]int32, rows)
			for i := range values {
				values[i] = 3 * math.Sin(float64(i*i))
			}
			w := autograd.NewVariable("w", tensor.From(d, values, tensor.Shape{rows, classes}, device.BFloat16, tensor.Tag{}))
			defer w.Close()
			tape := autograd.NewTape(d, 1)
			tape.Run(func() {
				logits := tape.Scale(w.Value(), -2)
				test.before(tape, logits)
				place, taken := logits.Data().Array().Addr, false
				tape.Mark(func() { taken = tape.GradOf(logits).Array().Addr == place })
				loss := tape.CrossEntropy(logits, tape.Take(tensor.From(d, targets, tensor.Shape{rows}, device.Int32, tensor.Tag{})))
				test.after(tape, logits)
				tape.Backward(loss)
				if taken != test.taken {
					t.Errorf("the gradient lies where the logits were: %v, want %v", taken, test.taken)
				}
			})
			got := w.Grad().Floats()
			if want == nil {
				want = got
			}
			equal.Values(t, "gradients differ", want, got)
		})
	}
}

func nothing(*autograd.Tape, *autograd.Value) {}
