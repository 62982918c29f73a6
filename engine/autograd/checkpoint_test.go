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
