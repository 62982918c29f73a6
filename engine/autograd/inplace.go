package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
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
func (t *Tape) ReLUInPlace(a *Value) { t.unaryInPlace(device.ReLU, a) }

// RuleReadsResult reports whether the gradient of a function follows from its
// result, so that what it was given may be overwritten.
func RuleReadsResult(f device.UnaryOp) bool { return f == device.ReLU }

// UnaryOver returns f(a) in the memory of a, which is used no more. Where a
// gradient flows, the function must be one whose rule reads the result; else it
// panics.
func (t *Tape) UnaryOver(f device.UnaryOp, a *Value) *Value {
	return t.over(a, func() { t.unaryInPlace(f, a) })
}

func (t *Tape) unaryInPlace(f device.UnaryOp, a *Value) {
	if t.record != nil && a.NeedsGrad() && !RuleReadsResult(f) {
		panic(fmt.Sprintf("autograd: %v_ of a value that needs a gradient, whose rule reads what would be overwritten", f))
	}
	t.inPlace(f.String()+"_", a, nil, func(x, _ *tensor.Tensor) { t.backend().Unary(f, x.Array(), x.Array()) },
		func(x, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x} },
		func(b *back) {
			b.each(0, func(dx *tensor.Tensor) {
				b.backend().UnaryBackward(f, dx.Array(), b.saved(0).Array(), b.dy.Array())
			})
		})
}

// DropoutOver is Dropout in the memory of a, which is used no more. Its rule draws
// the same numbers again and needs neither what a was nor what it becomes.
func (t *Tape) DropoutOver(a *Value, p float64) *Value {
	checkDropout(p)
	seed := t.draw(a.Size())
	return t.over(a, func() {
		t.inPlace("dropout_", a, nil,
			func(x, _ *tensor.Tensor) { t.backend().Dropout(x.Array(), x.Array(), device.Array{}, p, seed) },
			nil, dropoutRule(p, seed))
	})
}

// over returns what change makes of a as a value of its own, so that the gradient
// of what a was stays known by a.
func (t *Tape) over(a *Value, change func()) *Value {
	before := a.slot
	change()
	v := t.own(a.data)
	v.slot, a.slot = a.slot, before
	return v
}

// FillInPlace sets every element of a. No gradient flows to what a was.
func (t *Tape) FillInPlace(a *Value, value float64) {
	t.inPlace("fill_", a, nil, func(x, _ *tensor.Tensor) { t.backend().Fill(x.Array(), value) },
		nil, func(*back) {})
}

// Sole reports whether an operation may overwrite a value that its caller has no
// further use for: no operation has saved it or will, in a selective checkpoint or
// on its way to the host, and no view or variable shares its memory.
func (t *Tape) Sole(v *Value) bool {
	t.settle()
	return t.keeper == nil && t.offload == nil && v.variable == nil && v.base == nil && v.views == 0 &&
		v.data.Contiguous() && !v.data.Overlaps() && v.data.Storage().Handles() == 1
}

// inPlace changes a, after looking whether it may. save names what the rule
// reads, after the change.
func (t *Tape) inPlace(op string, a, b *Value, change func(x, y *tensor.Tensor),
	save func(x, y *tensor.Tensor) []*tensor.Tensor, rule func(*back),
) {
	t.settle()
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
