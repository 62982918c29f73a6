package nn

import "github.com/memtop/memtop/engine/autograd"

// Conv2d slides kernels over images.
type Conv2d struct {
	leaf
	Weight  *Param // [Out, In/Groups, Kernel, Kernel]
	Bias    *Param // [Out], or nil
	Options autograd.Conv2DOptions
}

// NewConv2d makes a Conv2d with a square kernel and a bias, initialised as
// PyTorch does: evenly within ±1/√(inputs of one output).
func NewConv2d(b Builder, in, out, kernel int, o autograd.Conv2DOptions) *Conv2d {
	fan := in / max(o.Groups, 1) * kernel * kernel
	return &Conv2d{
		Weight:  b.Param("weight", FanIn(fan), out, in/max(o.Groups, 1), kernel, kernel),
		Bias:    b.Param("bias", FanIn(fan), out),
		Options: o,
	}
}

// Params returns the weight and the bias, if there is one.
func (v *Conv2d) Params() []*Param { return present(v.Weight, v.Bias) }

// Forward takes [Batch, In, Height, Width] and returns [Batch, Out, …].
func (v *Conv2d) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Conv2D(one(v, in), v.Weight.Value(), valueOf(v.Bias), v.Options)
}
