package nn

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Prediction is the memory that one step of a model will take. All numbers are
// requested bytes, except ReservedBytes.
type Prediction struct {
	Layers []*Layer // as Ctx.Layers will return them; times mean nothing

	ParameterBytes  int64
	GradientBytes   int64 // kept after the backward pass
	ActivationBytes int64 // saved at the end of the forward pass
	InputBytes      int64
	PeakBytes       int64 // the highest level of the step
	ReservedBytes   int64 // the allocator's, after the step, starting with an empty cache
}

// Plan describes a step to be predicted.
type Plan[M Module] struct {
	Build   func(b Builder) M
	DType   device.DType    // of parameters
	Caster  autograd.Caster // nil without mixed precision
	Options Options
	// Loss makes inputs, with any values, and runs the forward pass.
	Loss func(c *Ctx, m M) *autograd.Value
}

// Predict rehearses one forward and backward pass on a device that computes
// nothing. Modules, operations and allocator rules are the same, so the bytes are
// those that a real pass will request from d. Predict allocates nothing on d. It
// returns an error if the allocator's settings are wrong.
func Predict[M Module](d *tensor.Device, p Plan[M]) (Prediction, error) {
	stage, err := tensor.NewRehearsal(d)
	if err != nil {
		return Prediction{}, err
	}
	m, err := Build(stage, p.DType, 0, p.Build)
	if err != nil {
		return Prediction{}, err
	}
	tape := autograd.NewTape(stage, 0)
	tape.SetCaster(p.Caster)
	c := NewCtx(tape, p.Options)
	r := Prediction{}
	usage := stage.Measure(func() {
		tape.Run(func() {
			loss := p.Loss(c, m)
			r.ActivationBytes, r.InputBytes = held(stage, trace.Activation), held(stage, trace.Input)
			tape.Backward(loss)
		})
	})
	r.Layers, r.PeakBytes = c.Layers(), usage.Peak
	r.ParameterBytes, r.GradientBytes = held(stage, trace.Parameter), held(stage, trace.Gradient)
	stats := stage.Memory().Stats()
	r.ReservedBytes = stats.Reserved()
	return r, nil
}

func held(d *tensor.Device, c trace.Category) int64 {
	return d.Memory().Stats().Category[c].Current
}
