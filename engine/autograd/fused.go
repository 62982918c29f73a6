package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # A product and its activation
//
// The device has one operation for a linear layer's product and the activation of it.
// They are two operations of the tape, each with its result and its rule, and often of
// two layers. Who calls both one after the other passes what is left of the first to
// the second:
//
//	h, p := t.LinearUndone(x, w, bias)
//	defer p.Release()
//	y := t.UnaryOf(f, h, p) // h is computed here

// Undone is a linear layer's product that is still to be done. It has handles of its
// own on what the work reads and writes. Nil is one that was done at once.
type Undone struct {
	work device.MatMul
	held []*tensor.Tensor
}

// LinearUndone is Linear that leaves its product to [Tape.UnaryOf]. Until then nothing
// may read the result, and x and w must not change. Where the product cannot be left
// it is done, and p is nil.
func (t *Tape) LinearUndone(x, w, bias *Value) (v *Value, p *Undone) {
	return t.linear(x, w, bias, false)
}

// UnaryOf is Unary of the result of a linear layer, whose product p is done as well:
// in one operation of the device where there is one for the two. p may be nil, or
// released.
func (t *Tape) UnaryOf(f device.UnaryOp, x *Value, p *Undone) *Value {
	defer p.Release()
	if p.pending() && !t.fuses(f, x) {
		t.backend().MatMul(p.work.Plan())
		p.Release()
	}
	return t.unary(f, x, p)
}

// fuses reports whether the device can do f together with the product x: it has such
// an operation, f reads x as it is, and its result is not there already.
func (t *Tape) fuses(f device.UnaryOp, x *Value) bool {
	dtype, converts := t.castType(f.String(), []*Value{x})
	return f.EndsProduct() && (!converts || dtype == x.DType()) && !t.keeper.replays(f.String(), t.layer)
}

// Release gives up a product that is not wanted any more. It does nothing to one that
// was done.
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

// undone returns a product of the operation's operands to be done later.
func (c *call) undone(m device.MatMul, result *tensor.Tensor) *Undone {
	p := &Undone{work: m}
	for _, x := range c.in {
		p.held = append(p.held, x.data.Retain())
	}
	p.held = append(p.held, result.Retain())
	return p
}
