package amp_test

import (
	"math"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
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

func TestTwoThousandGoodStepsDoubleTheScale(t *testing.T) {
	d := tensortest.Device(t)
	s := amp.NewScaler(d, amp.ScalerOptions{})
	defer s.Close()
	for range 1999 {
		s.Update()
	}
	before := s.State()
	s.Update()
	if after := s.State(); before.Scale != 65536 || before.GoodSteps != 1999 || after.Scale != 131072 || after.GoodSteps != 0 {
		t.Errorf("after 1,999 steps %+v, after 2,000 %+v", before, after)
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

func TestFloat16SkipsExactlyTheStepsThatOverflow(t *testing.T) {
	r := newRun(t, nn.Options{})
	r.c.SetCaster(amp.FP16.Caster())
	// Gradients of float16 values overflow at 65,504, so a scale that is far too
	// large comes down by half a step until they fit.
	s := amp.NewScaler(r.device, amp.ScalerOptions{Initial: 1 << 24, Interval: 4})
	defer s.Close()
	rate := tensor.Full(r.device, nil, device.Float32, 0, tensor.Tag{})
	defer rate.Release()
	weight := nn.Params(r.model)[0].Data()
	var skipped, scales []float64
	for range 16 {
		before, scale := weight.Floats(), s.State().Scale
		r.step(func(v *autograd.Value) *autograd.Value { return s.Scale(r.c.Tape, v) })
		overflowed := !finite(r)
		s.Unscale(nn.Params(r.model))
		if (s.Overflowed().Wait() != 0) != overflowed {
			t.Errorf("at scale %v the step is skipped: %v; a gradient is not finite: %v", scale, (s.Overflowed().Wait() != 0), overflowed)
		}
		r.update(s)
		if changed := !same(before, weight.Floats()); changed == overflowed {
			t.Errorf("at scale %v, overflow %v: the weights changed: %v", scale, overflowed, changed)
		}
		s.Update()
		skipped = append(skipped, 0)
		if overflowed {
			skipped[len(skipped)-1] = 1
		}
		scales = append(scales, scale)
	}
	if skipped[0] != 1 || skipped[15] != 0 && skipped[14] != 0 {
		t.Errorf("skipped %v at scales %v, want some at first and none at last", skipped, scales)
	}
}

// update is plain gradient descent by the device's optimizer, which reads the
// overflow mark.
func (r *run) update(s *amp.Scaler) {
	for _, p := range nn.Params(r.model) {
		r.device.Backend().Update(device.Update{
			Rule: device.SGD, List: []device.Parameter{{P: p.Data().Array(), G: p.Grad().Array()}}, LR: 0.1, FoundInf: s.FoundInf().Array(),
		}.Plan())
		p.Data().Storage().Wrote()
	}
	r.zero()
}

func finite(r *run) bool {
	for _, p := range nn.Params(r.model) {
		for _, g := range p.Grad().Floats() {
			if math.IsNaN(g) || math.IsInf(g, 0) {
				return false
			}
		}
	}
	return true
}

func same(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
