package nn_test

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// prediction is the memory that one step of a model will take. All numbers are
// requested bytes, except ReservedBytes.
type prediction struct {
	Layers []*nn.Layer // as Ctx.Layers will return them; times mean nothing

	ParameterBytes  int64
	GradientBytes   int64 // kept after the backward pass
	ActivationBytes int64 // saved at the end of the forward pass
	InputBytes      int64
	PeakBytes       int64 // the highest level of the step
	ReservedBytes   int64 // the allocator's, after the step, starting with an empty cache
}

// plan describes a step to be predicted.
type plan[M nn.Module] struct {
	build   func(b nn.Builder) M
	caster  autograd.Caster // nil without mixed precision
	options nn.Options
	// loss makes inputs, with any values, and runs the forward pass.
	loss func(c *nn.Ctx, m M) *autograd.Value
}

// rehearsed makes one forward and backward pass on a device that computes nothing.
// Modules, operations and allocator rules are the same, so the bytes are those that a
// real pass requests from d.
func rehearsed[M nn.Module](d *tensor.Device, p plan[M]) (prediction, error) {
	memory, err := alloc.New(dry.NewMemory(0), alloc.Options{Name: d.Name(), Config: d.Memory().Config()})
	if err != nil {
		return prediction{}, err
	}
	stage := tensor.NewDevice(d.Name(), memory, dry.Backend{}, tensor.Options{Unnamed: true})
	m, err := nn.Build(stage, device.Float32, 0, p.build)
	if err != nil {
		return prediction{}, err
	}
	tape := autograd.NewTape(stage, 0)
	tape.SetCaster(p.caster)
	c := nn.NewCtx(tape, p.options)
	r := prediction{}
	usage := stage.Measure(func() {
		tape.Run(func() {
			loss := p.loss(c, m)
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
