package autograd

import (
	"fmt"

	"memtop/engine/device"
	"memtop/engine/tensor"
)

// # Changing values in place
//
// An operation in place saves the memory of its result and destroys what its
// operand was. Three things would make a gradient wrong, and are refused:
//
//   - A saved tensor is changed before its rule has read it. Every storage
//     counts the writes to it; a rule compares, and panics (see back.saved).
//   - A variable is changed while operations are recorded: then its gradient
//     would be that of a value that no longer exists.
//   - A value is changed of which there are views, or a view of another value,
//     when a gradient flows into it: the others would not know.
//
// A view whose elements repeat is refused always: each element would be written
// several times.

// AddInPlace adds b, broadcast to a's shape, to a.
func (t *Tape) AddInPlace(a, b *Value) {
	if !tensor.Broadcast(a.Shape(), b.Shape()).Equal(a.Shape()) {
		panic(fmt.Sprintf("autograd: shape %v added in place to %v", b.Shape(), a.Shape()))
	}
	t.inPlace("add_", a, b, func(x, y *tensor.Tensor) { t.combine(device.Add, x, x, y) },
		nil, binaryRules[device.Add])
}

// MulInPlace multiplies a by b, broadcast to a's shape. When a gradient flows
// into b, a has to be saved as it was, so nothing is won and it panics; use Mul.
func (t *Tape) MulInPlace(a, b *Value) {
	if !tensor.Broadcast(a.Shape(), b.Shape()).Equal(a.Shape()) {
		panic(fmt.Sprintf("autograd: shape %v multiplied in place to %v", b.Shape(), a.Shape()))
	}
	if t.record != nil && b.NeedsGrad() {
		panic("autograd: mul_ by a value that needs a gradient, which needs what would be overwritten")
	}
	t.inPlace("mul_", a, b, func(x, y *tensor.Tensor) { t.combine(device.Mul, x, x, y) },
		func(_, y *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{y} },
		func(b *back) {
			if b.wants(0) {
				b.give(0, b.with(device.Mul, b.dy, b.saved(0)))
			}
		})
}

// ReLUInPlace replaces a by max(a, 0). Its rule needs the result only.
func (t *Tape) ReLUInPlace(a *Value) {
	t.inPlace("relu_", a, nil, func(x, _ *tensor.Tensor) { t.backend().Unary(device.ReLU, x.Array(), x.Array()) },
		func(x, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x} },
		func(b *back) {
			b.each(0, func(dx *tensor.Tensor) {
				b.backend().UnaryBackward(device.ReLU, dx.Array(), b.saved(0).Array(), b.dy.Array())
			})
		})
}

// FillInPlace sets every element of a. No gradient flows to what a was.
func (t *Tape) FillInPlace(a *Value, value float64) {
	t.inPlace("fill_", a, nil, func(x, _ *tensor.Tensor) { t.backend().Fill(x.Array(), value) },
		nil, func(*back) {})
}

// inPlace changes a, after looking whether it may. save names what the rule
// reads, after the change.
func (t *Tape) inPlace(op string, a, b *Value, change func(x, y *tensor.Tensor),
	save func(x, y *tensor.Tensor) []*tensor.Tensor, rule func(*back),
) {
	t.mayChange(op, a, b)
	if b == nil {
		b = t.Detach(a)
	}
	c := &call{Tape: t, op: op, in: []*Value{a, t.Contiguous(t.local(b))}, mark: len(t.temps)}
	defer c.end()
	b = c.in[1]
	a.data.Storage().Wrote()
	change(a.data, b.data)
	var list []*tensor.Tensor
	if save != nil {
		list = save(a.data, b.data)
	}
	c.differentiate(a, list, rule)
}

func (t *Tape) mayChange(op string, a, b *Value) {
	if a.data.Overlaps() || !a.data.Contiguous() {
		panic(fmt.Sprintf("autograd: %s on %v with strides %v, which is not a block of its own", op, a, a.data.Strides()))
	}
	flows := a.NeedsGrad() || b != nil && b.NeedsGrad()
	if t.record == nil || !flows {
		return
	}
	if a.variable != nil {
		panic(fmt.Sprintf("autograd: %s on variable %s while operations are recorded", op, a.variable.name))
	}
	if a.base != nil || a.views > 0 {
		panic(fmt.Sprintf("autograd: %s on %v, which shares its memory with another value", op, a))
	}
}
