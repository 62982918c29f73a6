package autograd

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # Slopes in products
//
// The gradient of an activation's result is made by the product of the layer that
// reads it. Where that is the only reader, the product multiplies it by the
// activation's slope at once, and the activation's rule passes it on as it is.

// slopes notes on the result of an activation that a product may take its slope.
func (c *call) slopes(v *Value, f device.UnaryOp) {
	if v.slot == nil || !f.EndsProduct() || c.watched {
		return
	}
	v.slot.maker, v.slot.activation = c.record.nodes[len(c.record.nodes)-1], f
}

// SetWatched says whether something looks at the gradients of operations that are
// recorded from now on, so that each must be there by itself, and returns what was.
func (t *Tape) SetWatched(watched bool) (before bool) {
	before, t.watched = t.watched, watched
	return before
}

// takeSlope has the product m, which makes dx for operand 0, take the slope of the
// activation that the operand is the result of, if there is one and no other part of
// its gradient.
func (b *back) takeSlope(m *device.MatMul, dx *tensor.Tensor) {
	s := b.node.in[0]
	if s.maker == nil || s.readers != 1 || s.grad != nil || dx.DType() != s.maker.in[0].like.DType() {
		return
	}
	pre := (&back{Tape: b.Tape, node: s.maker}).saved(0)
	m.Activate, m.Slope, m.Activation, m.Pre = true, true, s.activation, pre.Array()
	s.sloped = true
}
