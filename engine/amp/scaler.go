package amp

import (
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// ScalerOptions say how a loss scale changes. Zero values mean PyTorch's: 65,536
// at first, twice as much after 2,000 good steps in a row, half as much after a
// bad one.
type ScalerOptions struct {
	Initial, Growth, Backoff float64
	Interval                 int
}

func (o ScalerOptions) withDefaults() ScalerOptions {
	set := func(p *float64, value float64) {
		if *p == 0 {
			*p = value
		}
	}
	set(&o.Initial, 65536)
	set(&o.Growth, 2)
	set(&o.Backoff, 0.5)
	if o.Interval == 0 {
		o.Interval = 2000
	}
	return o
}

// Scaler multiplies the loss so that small gradients survive float16, and
// divides the gradients again before they are used. A step whose gradients
// overflowed is skipped. After torch.amp.GradScaler.
//
// The scale, its counter and the overflow mark live on the device, and nothing
// of a step waits for them. One step is:
//
//	scaled := s.Scale(tape, loss)
//	tape.Backward(scaled)
//	s.Unscale(params)            // before clipping
//	optimizer.Step(lr, s)        // does nothing after an overflow
//	s.Update()
type Scaler struct {
	options  ScalerOptions
	device   *tensor.Device
	scale    *tensor.Tensor
	tracker  *tensor.Tensor
	foundInf *tensor.Tensor
}

// NewScaler makes a scaler with 12 bytes of state on the device. It fails (see
// [tensor.Try]) when there is no memory. Close releases it.
func NewScaler(d *tensor.Device, o ScalerOptions) *Scaler {
	o = o.withDefaults()
	number := func(role string, value float64) *tensor.Tensor {
		tag := tensor.Tag{Category: trace.Optimizer, Layer: "scaler", Role: role}
		return tensor.Full(d, nil, device.Float32, value, tag)
	}
	return &Scaler{
		options: o, device: d,
		scale: number("scale", o.Initial), tracker: number("growth tracker", 0), foundInf: number("found inf", 0),
	}
}

// Scale returns the loss times the scale, for the backward pass.
func (s *Scaler) Scale(t *autograd.Tape, loss *autograd.Value) *autograd.Value {
	return t.ScaleBy(loss, s.scale)
}

// Unscale divides the gradients of all parameters by the scale, in place, and
// marks the step when one is infinite or no number. It computes where the
// gradients are, and is called once a step.
func (s *Scaler) Unscale(params []*autograd.Variable) {
	grads := make(map[*tensor.Device][]device.Array)
	order := []*tensor.Device{s.device}
	for _, p := range params {
		if g := p.Grad(); g != nil {
			g.Storage().Wrote()
			if d := g.Device(); !slices.Contains(order, d) {
				order = append(order, d)
			}
			grads[g.Device()] = append(grads[g.Device()], g.Array())
		}
	}
	for _, d := range order {
		if len(grads[d]) > 0 {
			s.unscaleOn(d, grads[d])
		}
	}
}

func (s *Scaler) unscaleOn(shared *tensor.Device, grads []device.Array) {
	where := shared.Whole()
	scale, mark := s.scale.To(where), s.foundInf.To(where)
	defer scale.Release()
	defer mark.Release()
	where.Backend().Unscale(grads, scale.Array(), mark.Array())
	mark.SumOverGroup(shared)
	if where != s.device {
		s.foundInf.CopyFrom(mark)
	}
}

// FoundInf is the mark of the present step, one float32 element: not 0 after an
// overflow. Optimizers take it to skip the step.
func (s *Scaler) FoundInf() *tensor.Tensor { return s.foundInf }

// Overflowed reads the mark of the present step, and does not wait for it.
func (s *Scaler) Overflowed() *tensor.Pending { return s.foundInf.Fetch() }

// Update moves the scale after a step and clears the mark.
func (s *Scaler) Update() {
	for _, x := range []*tensor.Tensor{s.scale, s.tracker} {
		x.Storage().Wrote()
	}
	o := s.options
	s.device.Backend().UpdateScale(s.scale.Array(), s.tracker.Array(), s.foundInf.Array(), o.Growth, o.Backoff, o.Interval)
	s.foundInf.Fill(0)
}

// ScalerState is what a checkpoint must keep of a Scaler to continue a run.
type ScalerState struct {
	Scale     float64 `json:"scale"`
	GoodSteps int     `json:"good_steps"` // since the scale last moved
}

// State waits for the device and returns the state.
func (s *Scaler) State() ScalerState {
	return ScalerState{Scale: s.scale.Item(), GoodSteps: int(s.tracker.Item())}
}

// SetState continues from a state.
func (s *Scaler) SetState(state ScalerState) {
	s.scale.Fill(state.Scale)
	s.tracker.Fill(float64(state.GoodSteps))
	s.foundInf.Fill(0)
}

// Close releases the state.
func (s *Scaler) Close() {
	s.scale.Release()
	s.tracker.Release()
	s.foundInf.Release()
}
