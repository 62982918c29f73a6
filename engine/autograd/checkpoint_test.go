package autograd_test

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
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
