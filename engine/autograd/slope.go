package autograd

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # Slopes in products
//
// The layer that reads an activation's result computes the result's gradient with
// a product. If it is the only reader, the product also multiplies the gradient
// by the activation's slope, and the activation's rule passes the gradient on
// unchanged.

// slopes notes on the result of an activation that a product may multiply by the
// slope.
func (c *call) slopes(v *Value, f device.UnaryOp) {
	if v.slot == nil || !f.EndsProduct() || c.watched {
		return
	}
	v.slot.maker, v.slot.activation = c.record.nodes[len(c.record.nodes)-1], f
}

// SetWatched says whether a hook looks at the gradients of operations recorded
// from now on, so that each gradient must exist by itself. It returns the
// previous value.
func (t *Tape) SetWatched(watched bool) (before bool) {
	before, t.watched = t.watched, watched
	return before
}

// takeSlope makes the product m, which computes dx for operand 0, multiply by an
// activation's slope. It does so if the operand is an activation's result and its
// gradient has no other part.
func (b *back) takeSlope(m *device.MatMul, dx *tensor.Tensor) {
	s := b.node.in[0]
	if s.maker == nil || s.readers != 1 || s.grad != nil || dx.DType() != s.maker.in[0].like.DType() {
		return
	}
	pre := (&back{Tape: b.Tape, node: s.maker}).saved(0)
	m.Activate, m.Slope, m.Activation, m.Pre = true, true, s.activation, pre.Array()
	s.sloped = true
}
