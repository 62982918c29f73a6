package nn

import (
	"fmt"

	"memtop/engine/autograd"
)

// MSE is the mean over all elements of (output − target)².
type MSE struct{ stateless }

// Forward takes two values of one shape and returns one number.
func (m *MSE) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	if len(in) != 2 || !in[0].Shape().Equal(in[1].Shape()) {
		panic(fmt.Sprintf("nn: MSE takes an output and targets of its shape, got %v", in))
	}
	difference := c.Sub(in[0], in[1])
	return c.MeanAll(c.Mul(difference, difference))
}

// Function is a module without parameters, such as a loss of one's own.
type Function struct {
	leaf
	forward func(c *Ctx, in ...*autograd.Value) *autograd.Value
}

// NewFunction makes a module of a function, which calls other modules by Ctx.Call
// only. The module may be called by several goroutines at once if the function may.
func NewFunction(forward func(c *Ctx, in ...*autograd.Value) *autograd.Value) *Function {
	return &Function{forward: forward}
}

// Params returns nothing.
func (f *Function) Params() []*Param { return nil }

// Forward calls the function.
func (f *Function) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return f.forward(c, in...)
}
