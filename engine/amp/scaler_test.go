package amp_test

import (
	"math"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/collectivetest"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

func TestTheScaleMovesAsPyTorchs(t *testing.T) {
	inf := math.Inf(1)
	tests := map[string]struct {
		options   amp.ScalerOptions
		gradients []float64 // one a step, before the scale is divided out
		scales    []float64 // after each step
		skipped   []bool
	}{
		"it starts at 65,536 and stays": {amp.ScalerOptions{}, []float64{1, 1}, []float64{65536, 65536}, []bool{false, false}},
		"it doubles after enough good steps": {
			amp.ScalerOptions{Interval: 2},
			[]float64{1, 1, 1, 1},
			[]float64{65536, 131072, 131072, 262144},
			[]bool{false, false, false, false},
		},
		"it halves on an infinite gradient": {amp.ScalerOptions{}, []float64{1, inf, 1}, []float64{65536, 32768, 32768}, []bool{false, true, false}},
		"it halves on NaN":                  {amp.ScalerOptions{}, []float64{math.NaN()}, []float64{32768}, []bool{true}},
		"a bad step starts the count again": {
			amp.ScalerOptions{Interval: 2},
			[]float64{1, inf, 1, 1},
			[]float64{65536, 32768, 32768, 65536},
			[]bool{false, true, false, false},
		},
		"other numbers": {amp.ScalerOptions{Initial: 8, Growth: 4, Backoff: 0.25, Interval: 1}, []float64{1, inf}, []float64{32, 8}, []bool{false, true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := tensortest.Device(t)
			s := amp.NewScaler(d, test.options)
			defer s.Close()
			w := autograd.NewVariable("w", tensor.Full(d, tensor.Shape{3}, device.Float32, 0, tensor.Tag{}))
			defer w.Close()
			tape := autograd.NewTape(d, 0)
			for i, g := range test.gradients {
				w.ZeroGrad()
				tape.Run(func() { tape.Backward(s.Scale(tape, tape.Scale(tape.SumAll(w.Value()), g))) })
				s.Unscale([]*autograd.Variable{w})
				if got := w.Grad().Floats()[0]; !test.skipped[i] && got != g {
					t.Errorf("step %d: unscaled gradient %v, want %v", i, got, g)
				}
				if got := (s.Overflowed().Wait() != 0); got != test.skipped[i] {
					t.Errorf("step %d: skipped %v, want %v", i, got, test.skipped[i])
				}
				s.Update()
				if got := s.State().Scale; got != test.scales[i] {
					t.Errorf("after step %d the scale is %v, want %v", i, got, test.scales[i])
				}
			}
		})
	}
}

func TestAScalerContinuesFromItsState(t *testing.T) {
	d := tensortest.Device(t)
	a, b := amp.NewScaler(d, amp.ScalerOptions{Initial: 8}), amp.NewScaler(d, amp.ScalerOptions{})
	defer a.Close()
	defer b.Close()
	for range 3 {
		a.Update()
	}
	b.FoundInf().Fill(1) // of a step that the state is not of
	b.SetState(a.State())
	if want := (amp.ScalerState{Scale: 8, GoodSteps: 3}); b.State() != want || b.Overflowed().Wait() != 0 {
		t.Errorf("state %+v, mark %v; want %+v without a mark", b.State(), b.Overflowed().Wait(), want)
	}
}

// TestAnOverflowInOneRanksPartIsOneOfAll divides a gradient of which one rank's part
// is infinite: all ranks have to skip the step, or their parameters part.
func TestAnOverflowInOneRanksPartIsOneOfAll(t *testing.T) {
	const ranks = 3
	var all sync.WaitGroup
	for rank, member := range collectivetest.New(ranks) {
		d := tensortest.Device(t)
		all.Go(func() {
			value := 1.0
			if rank == 1 {
				value = math.Inf(1)
			}
			shape := tensor.Shape{7}
			v := autograd.NewVariable("weight", tensor.Full(d, shape, device.Float32, 1, tensor.Tag{}))
			defer v.Close()
			v.ReplaceGrad(tensor.Full(d.Shared(member), shape, device.Float32, value, tensor.Tag{}))
			s := amp.NewScaler(d, amp.ScalerOptions{})
			defer s.Close()
			s.Unscale([]*autograd.Variable{v})
			if s.Overflowed().Wait() == 0 {
				t.Errorf("rank %d has not heard of the overflow of rank 1", rank)
			}
		})
	}
	all.Wait()
}
