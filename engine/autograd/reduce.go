package autograd

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Sum adds up over the dimensions from first to last, and removes them. They may
// be counted from the end.
func (t *Tape) Sum(x *Value, first, last int) *Value {
	return t.reduce("sum", device.Sum, x, first, last)
}

// Mean is Sum divided by the number of elements that were added.
func (t *Tape) Mean(x *Value, first, last int) *Value {
	return t.reduce("mean", device.Mean, x, first, last)
}

// SumAll adds up all elements.
func (t *Tape) SumAll(x *Value) *Value {
	return t.Sum(t.View(x, -1), 0, 0)
}

// MeanAll returns the mean of all elements.
func (t *Tape) MeanAll(x *Value) *Value {
	return t.Mean(t.View(x, -1), 0, 0)
}

func (t *Tape) reduce(op string, r device.Reduction, x *Value, first, last int) *Value {
	first, last = x.Shape().Dim(first), x.Shape().Dim(last)
	if first > last {
		panic(fmt.Sprintf("autograd: %s over dimensions %d to %d of shape %v", op, first, last, x.Shape()))
	}
	c := t.begin(op, x)
	defer c.end()
	c.contiguous(0)
	x = c.in[0]
	shape := x.Shape()
	outer, n, inner := shape[:first].Size(), shape[first:last+1].Size(), shape[last+1:].Size()
	y := c.out(slices.Concat(shape[:first], shape[last+1:]), x.DType())
	c.run(func() { t.backend().Reduce(r, y.Array(), x.data.Array(), outer, n, inner) })
	factor := 1.0
	if r == device.Mean {
		factor = 1 / float64(n)
	}
	return c.value(y, nil, func(b *back) { b.repeat(outer, n, inner, factor) })
}

// repeat gives every element of a reduced group the same gradient, factor times
// that of the result.
func (b *back) repeat(outer, n, inner int, factor float64) {
	b.each(0, func(dx *tensor.Tensor) {
		if dx.Size() == 0 {
			return
		}
		rows := b.hold(b.dy.View(outer, 1, inner))
		wide := b.hold(rows.Expand(tensor.Shape{outer, n, inner}))
		b.hold(dx.View(outer, n, inner)).CopyFrom(wide)
		if factor != 1 {
			b.backend().Scale(dx.Array(), dx.Array(), factor)
		}
	})
}
