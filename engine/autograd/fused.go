package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # A product and its activation
//
// The device has one operation for a linear layer's product and the activation of
// its result. On the tape they are two operations, each with its result and its
// rule, and often they belong to two layers. Code that calls both in a row passes
// the pending product of the first to the second:
//
//	h, p := t.LinearUndone(x, w, bias)
//	defer p.Release()
//	y := t.UnaryOf(f, h, p) // h is computed here

// Undone is a linear layer's pending product. It has its own handles on the
// tensors that the product reads and writes. A nil Undone means that the product
// was computed at once.
type Undone struct {
	work device.MatMul
	held []*tensor.Tensor
}

// LinearUndone is Linear, but it leaves the product to [Tape.UnaryOf]. Until then
// nothing may read the result, and x and w must not change. If the product cannot
// be left, LinearUndone computes it, and p is nil.
func (t *Tape) LinearUndone(x, w, bias *Value) (v *Value, p *Undone) {
	return t.linear(x, w, bias, false)
}

// UnaryOf is Unary of a linear layer's result, and also computes the layer's
// product p. It uses one operation of the device if there is one for both. p may
// be nil, or released.
func (t *Tape) UnaryOf(f device.UnaryOp, x *Value, p *Undone) *Value {
	defer p.Release()
	if p.pending() && !t.fuses(f, x) {
		x.data.Device().Backend().MatMul(p.work.Plan())
		p.Release()
	}
	return t.unary(f, x, p)
}

// fuses reports whether the device can compute f together with the product x. It
// can if it has such an operation, f reads x without conversion, and the result
// of f is not already kept.
func (t *Tape) fuses(f device.UnaryOp, x *Value) bool {
	dtype, converts := t.castType(f.String(), []*Value{x})
	return f.EndsProduct() && x.data.Device() == t.device && (!converts || dtype == x.DType()) && !t.keeper.replays(f.String(), t.layer)
}

// Release gives up a product that is no longer needed. It does nothing if the
// product was computed.
func (p *Undone) Release() {
	if p == nil {
		return
	}
	for _, x := range slices.Backward(p.held) {
		x.Release()
	}
	p.held = nil
}

func (p *Undone) pending() bool { return p != nil && p.held != nil }

// undone returns a pending product of the operation's operands.
func (c *call) undone(m device.MatMul, result *tensor.Tensor) *Undone {
	p := &Undone{work: m}
	for _, x := range c.in {
		p.held = append(p.held, x.data.Retain())
	}
	p.held = append(p.held, result.Retain())
	return p
}
