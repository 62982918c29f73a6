package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Add returns a + b, broadcast. The result has the wider type.
func (t *Tape) Add(a, b *Value) *Value {
	return t.binary("add", device.Add, a, b, Wider(a.DType(), b.DType()))
}

// AddAs is Add with a result of the given type, rounded once.
func (t *Tape) AddAs(dtype device.DType, a, b *Value) *Value {
	return t.binary("add", device.Add, a, b, dtype)
}

// Sub returns a − b, broadcast. The result has the wider type.
func (t *Tape) Sub(a, b *Value) *Value {
	return t.binary("sub", device.Sub, a, b, Wider(a.DType(), b.DType()))
}

// Mul returns a · b, broadcast. The result has the wider type.
func (t *Tape) Mul(a, b *Value) *Value {
	return t.binary("mul", device.Mul, a, b, Wider(a.DType(), b.DType()))
}

// Div returns a / b, broadcast. The result has the wider type.
func (t *Tape) Div(a, b *Value) *Value {
	return t.binary("div", device.Div, a, b, Wider(a.DType(), b.DType()))
}

func (t *Tape) binary(name string, op device.BinaryOp, a, b *Value, dtype device.DType) *Value {
	c := t.begin(name, a, b)
	defer c.end()
	c.contiguous(0, 1)
	a, b = c.in[0], c.in[1]
	shape := tensor.Broadcast(a.Shape(), b.Shape())
	y := c.out(shape, dtype)
	if op == device.Add && c.mayAwait(a, b, shape) {
		v := c.value(y, nil, binaryRules[op])
		c.awaitSum(v)
		return v
	}
	c.run(func() { t.combine(op, y, a.data, b.data) })
	switch {
	case op != device.Mul && op != device.Div:
		return c.value(y, nil, binaryRules[op])
	case op == device.Mul && !c.wanted(b): // the other operand is not read: it is not kept
		return c.value(y, []*tensor.Tensor{b.data}, mulBy)
	}
	return c.value(y, []*tensor.Tensor{a.data, b.data}, binaryRules[op])
}

// mulBy is the rule of a product with a constant.
func mulBy(b *back) { b.reduced(0, b.with(device.Mul, b.dy, b.saved(0)), 1) }

// Wider returns the type that two floating types promote to, as PyTorch has it:
// the larger one, and float32 for the two halves together.
func Wider(a, b device.DType) device.DType {
	switch {
	case a == b:
		return a
	case a.Size() == b.Size():
		return device.Float32
	case a.Size() > b.Size():
		return a
	}
	return b
}

var binaryRules = map[device.BinaryOp]func(b *back){
	device.Add: func(b *back) {
		b.reduced(0, b.dy, 1)
		b.reduced(1, b.dy, 1)
	},
	device.Sub: func(b *back) {
		b.reduced(0, b.dy, 1)
		b.reduced(1, b.dy, -1)
	},
	device.Mul: func(b *back) {
		if b.wants(0) {
			b.reduced(0, b.with(device.Mul, b.dy, b.saved(1)), 1)
		}
		if b.wants(1) {
			b.reduced(1, b.with(device.Mul, b.dy, b.saved(0)), 1)
		}
	},
	device.Div: func(b *back) { // d(x/y) = dx/y − (x/y)·dy/y
		quotient := b.with(device.Div, b.dy, b.saved(1))
		b.reduced(0, quotient, 1)
		if b.wants(1) {
			b.reduced(1, b.with(device.Div, b.with(device.Mul, quotient, b.saved(0)), b.saved(1)), -1)
		}
	},
}

// with combines a gradient of the full shape with an operand that is broadcast
// to it.
func (b *back) with(op device.BinaryOp, g, operand *tensor.Tensor) *tensor.Tensor {
	y := b.temporary(g.Shape(), g.DType(), "grad of "+b.node.op)
	b.combine(op, y, g, operand)
	return y
}

// combine computes y = x op z on contiguous operands, broadcast to y's shape. The
// device repeats the second operand over leading dimensions by itself; any other
// stretching is copied out first.
func (t *Tape) combine(op device.BinaryOp, y, x, z *tensor.Tensor) {
	if y.Size() == 0 {
		return
	}
	if x.Size() < y.Size() && z.Size() == y.Size() && (op == device.Add || op == device.Mul) {
		x, z = z, x
	}
	x = t.stretch(x, y.Shape(), false)
	z = t.stretch(z, y.Shape(), true)
	t.backend().Binary(op, y.Array(), x.Array(), z.Array())
}

// stretch returns x repeated to a shape. It returns x itself if x has that size,
// or if only leading dimensions are missing and the caller allows that.
func (t *Tape) stretch(x *tensor.Tensor, shape tensor.Shape, leading bool) *tensor.Tensor {
	if x.Size() == shape.Size() || leading && isTail(x.Shape(), shape) {
		return x
	}
	wide := t.hold(x.Expand(shape))
	full := t.temporary(shape, x.DType(), "broadcast")
	full.CopyFrom(wide)
	return full
}

// isTail says whether s without leading ones is the end of shape.
func isTail(s, shape tensor.Shape) bool {
	for len(s) > 0 && s[0] == 1 {
		s = s[1:]
	}
	return slices.Equal(s, shape[len(shape)-len(s):])
}

// reduced passes factor times a gradient of the full shape on to an operand that
// was broadcast, summed over the repeated dimensions.
func (b *back) reduced(i int, g *tensor.Tensor, factor float64) {
	if !b.wants(i) {
		return
	}
	like := b.node.in[i].like
	if like.Size() != g.Size() {
		g = b.sumTo(g, like)
	}
	if factor != 1 {
		dx := b.grad(i)
		b.backend().Scale(dx.Array(), g.Array(), factor)
		g = dx
	}
	if !g.Shape().Equal(like.Shape()) {
		g = b.hold(g.View(like.Shape()...))
	}
	b.give(i, g)
}

// sumTo adds a gradient up over the dimensions in which like has extent 1 or
// none, one run of neighbouring dimensions after the other.
func (b *back) sumTo(g, like *tensor.Tensor) *tensor.Tensor {
	from := g.Shape()
	to := slices.Concat(slices.Repeat(tensor.Shape{1}, len(from)-len(like.Shape())), like.Shape())
	for i := 0; i < len(from); i++ {
		if to[i] == from[i] {
			continue
		}
		j := i
		for j < len(from) && (to[j] != from[j] || from[j] == 1) {
			j++
		}
		outer, n, inner := to[:i].Size(), from[i:j].Size(), from[j:].Size()
		sum := b.temporary(slices.Concat(to[:j], from[j:]), g.DType(), "grad of broadcast")
		b.backend().Reduce(device.Sum, sum.Array(), g.Array(), outer, n, inner)
		g, i = sum, j
	}
	return g
}
