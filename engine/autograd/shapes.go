package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/tensor"
)

// viewOf makes a value that shares the memory of x, and records how the gradient
// of the view becomes a gradient of x.
func (t *Tape) viewOf(op string, x *Value, view *tensor.Tensor, rule func(b *back)) *Value {
	c := &call{Tape: t, op: op, in: []*Value{x}, mark: len(t.temps)}
	defer c.end()
	return c.value(t.hold(view), nil, rule)
}

// View returns x in another shape, where one extent may be -1. It copies only
// when the strides of x do not allow a view.
func (t *Tape) View(x *Value, shape ...int) *Value {
	x = t.local(x)
	full := x.data.Infer(shape)
	if !x.data.Viewable(full) {
		x = t.Contiguous(x)
	}
	return t.viewOf("view", x, x.data.View(full...), func(b *back) {
		b.give(0, b.hold(b.dy.View(b.node.in[0].like.Shape()...)))
	})
}

// Transpose returns x with two dimensions exchanged, as a view.
func (t *Tape) Transpose(x *Value, i, j int) *Value {
	order := make([]int, len(x.Shape()))
	for d := range order {
		order[d] = d
	}
	i, j = x.Shape().Dim(i), x.Shape().Dim(j)
	order[i], order[j] = j, i
	return t.Permute(x, order...)
}

// Permute returns x with dimension i being x's dimension order[i], as a view.
func (t *Tape) Permute(x *Value, order ...int) *Value {
	x = t.local(x)
	back0 := make([]int, len(order))
	view := x.data.Permute(order...)
	for i, d := range order {
		back0[x.Shape().Dim(d)] = i
	}
	return t.viewOf("permute", x, view, func(b *back) {
		turned := b.hold(b.dy.Permute(back0...))
		b.each(0, func(dx *tensor.Tensor) { dx.CopyFrom(turned) })
	})
}

// Narrow returns n indexes of a dimension of x, from start on, as a view.
func (t *Tape) Narrow(x *Value, dim, start, n int) *Value {
	x = t.local(x)
	whole := n == x.Shape()[x.Shape().Dim(dim)]
	return t.viewOf("narrow", x, x.data.Narrow(dim, start, n), func(b *back) {
		if whole {
			b.give(0, b.dy)
			return
		}
		b.each(0, func(dx *tensor.Tensor) {
			dx.Fill(0)
			b.hold(dx.Narrow(dim, start, n)).CopyFrom(b.dy)
		})
	})
}

// Expand returns x repeated to a shape, as a view: see [tensor.Broadcast].
func (t *Tape) Expand(x *Value, shape ...int) *Value {
	x = t.local(x)
	return t.viewOf("expand", x, x.data.Expand(shape), func(b *back) { b.reduced(0, b.dy, 1) })
}

// Contiguous returns x with its elements one after the other: x itself if it is
// contiguous, else a copy.
func (t *Tape) Contiguous(x *Value) *Value {
	if x.data.Contiguous() {
		return x
	}
	c := t.begin("contiguous", x)
	defer c.end()
	y := c.out(x.Shape(), x.DType())
	c.run(func() { y.CopyFrom(x.data) })
	return c.value(y, nil, func(b *back) { b.give(0, b.dy) })
}

// Concat joins values of one type along a dimension in which alone their
// shapes may differ.
func (t *Tape) Concat(dim int, parts ...*Value) *Value {
	dim = parts[0].Shape().Dim(dim)
	shape := slices.Clone(parts[0].Shape())
	starts := make([]int, len(parts))
	for i, p := range parts[1:] {
		starts[i+1] = shape[dim]
		shape[dim] += p.Shape()[p.Shape().Dim(dim)]
	}
	c := t.begin("concat", parts...)
	defer c.end()
	y := c.out(shape, c.in[0].DType())
	c.run(func() {
		for i, p := range c.in {
			t.hold(y.Narrow(dim, starts[i], p.Shape()[dim])).CopyFrom(p.data)
		}
	})
	return c.value(y, nil, func(b *back) {
		for i := range b.node.in {
			b.each(i, func(dx *tensor.Tensor) {
				dx.CopyFrom(b.hold(b.dy.Narrow(dim, starts[i], dx.Shape()[dim])))
			})
		}
	})
}
