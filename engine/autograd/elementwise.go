package autograd

import (
	"fmt"
	"time"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Unary applies a function to every element. The rules are the device's, see
// [device.UnaryOp].
func (t *Tape) Unary(f device.UnaryOp, x *Value) *Value {
	c := t.begin(f.String(), x)
	defer c.end()
	c.contiguous(0)
	x = c.in[0]
	y := c.out(x.Shape(), x.DType())
	product, _ := c.take()
	c.run(func() {
		if m := product; m != nil {
			start := time.Now()
			m.C, m.Pre, m.Activate, m.Activation = y.Array(), x.data.Array(), true, f
			t.backend().MatMul(m.Plan())
			t.productTime += time.Since(start)
			return
		}
		t.backend().Unary(f, y.Array(), x.data.Array())
	})
	save := x.data
	if f == device.ReLU {
		save = y // its sign is all the rule needs, and the next operation saves it as well
	}
	v := c.value(y, []*tensor.Tensor{save}, unaryRule(f))
	c.slopes(v, f)
	return v
}

// unaryRule is dx = dy·f'(x). If the product that made dy has already multiplied
// by the slope, the rule passes dy on.
func unaryRule(f device.UnaryOp) func(b *back) {
	return func(b *back) {
		if b.node.out.sloped {
			b.give(0, b.dy)
			return
		}
		b.each(0, func(dx *tensor.Tensor) {
			b.backend().UnaryBackward(f, dx.Array(), b.saved(0).Array(), b.dy.Array())
		})
	}
}

// ReLU returns max(x, 0).
func (t *Tape) ReLU(x *Value) *Value { return t.Unary(device.ReLU, x) }

// GELU returns x·Φ(x), with Φ by the error function.
func (t *Tape) GELU(x *Value) *Value { return t.Unary(device.GELU, x) }

// GELUTanh returns GPT-2's approximation of GELU by tanh.
func (t *Tape) GELUTanh(x *Value) *Value { return t.Unary(device.GELUTanh, x) }

// SiLU returns x/(1+e^-x).
func (t *Tape) SiLU(x *Value) *Value { return t.Unary(device.SiLU, x) }

// Scale returns factor·x.
func (t *Tape) Scale(x *Value, factor float64) *Value {
	c := t.begin("scale", x)
	defer c.end()
	c.contiguous(0)
	x = c.in[0]
	y := c.out(x.Shape(), x.DType())
	c.run(func() { t.backend().Scale(y.Array(), x.data.Array(), factor) })
	return c.value(y, nil, func(b *back) {
		b.each(0, func(dx *tensor.Tensor) { b.backend().Scale(dx.Array(), b.dy.Array(), factor) })
	})
}

// ScaleBy returns factor·x with a factor in device memory, one float32 or
// float64 element, into which no gradient flows: a loss scale. Its memory must
// not change before the backward pass.
func (t *Tape) ScaleBy(x *Value, factor *tensor.Tensor) *Value {
	c := t.begin("scale", x)
	defer c.end()
	c.contiguous(0)
	x = c.in[0]
	y := c.out(x.Shape(), x.DType())
	c.run(func() { t.backend().ScaleBy(y.Array(), x.data.Array(), factor.Array()) })
	return c.value(y, []*tensor.Tensor{factor}, func(b *back) {
		b.each(0, func(dx *tensor.Tensor) {
			b.backend().ScaleBy(dx.Array(), b.dy.Array(), b.saved(0).Array())
		})
	})
}

// Softmax returns e^x / Σ e^x over the last dimension.
func (t *Tape) Softmax(x *Value) *Value {
	atLeast("softmax", x, 1)
	c := t.begin("softmax", x)
	defer c.end()
	c.contiguous(0)
	x = c.in[0]
	cols := x.Shape().Last()
	rows := rowsOf(x.Shape())
	y := c.out(x.Shape(), x.DType())
	c.run(func() { t.backend().Softmax(y.Array(), x.data.Array(), rows, cols, false) })
	return c.value(y, []*tensor.Tensor{y}, func(b *back) {
		b.each(0, func(dx *tensor.Tensor) {
			b.backend().SoftmaxBackward(dx.Array(), b.saved(0).Array(), b.dy.Array(), rows, cols)
		})
	})
}

// rowsOf is how many times the last dimension repeats.
func rowsOf(s tensor.Shape) int {
	return s[:len(s)-1].Size()
}

// Dropout zeroes every element with probability p, from 0 to below 1, and scales
// the rest by 1/(1−p). It saves nothing: the backward pass draws the same numbers again.
func (t *Tape) Dropout(x *Value, p float64) *Value {
	switch {
	case p < 0 || p >= 1:
		panic(fmt.Sprintf("autograd: dropout with probability %v", p))
	case p == 0:
		return x
	}
	c := t.begin("dropout", x)
	defer c.end()
	c.contiguous(0)
	x = c.in[0]
	seed := t.draw(x.Size())
	y := c.out(x.Shape(), x.DType())
	c.run(func() { t.backend().Dropout(y.Array(), x.data.Array(), device.Array{}, p, seed) })
	return c.value(y, nil, func(b *back) {
		b.each(0, func(dx *tensor.Tensor) {
			b.backend().Dropout(dx.Array(), b.dy.Array(), device.Array{}, p, seed)
		})
	})
}

// draw reserves random numbers for n elements.
func (t *Tape) draw(n int) device.Seed {
	s := t.random
	t.random.Offset += device.Uses(n)
	return s
}
