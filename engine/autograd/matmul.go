package autograd

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// MatMul multiplies matrices: [..., M, K] by [..., K, N]. Leading dimensions
// are equal, or b has none and is used for every matrix of a.
func (t *Tape) MatMul(a, b *Value) *Value {
	c := t.begin("matmul", a, b)
	defer c.end()
	c.contiguous(0, 1)
	a, b = c.in[0], c.in[1]
	p := productOf(a.Shape(), b.Shape())
	shape := slices.Concat(a.Shape()[:len(a.Shape())-1], tensor.Shape{p.N})
	y := c.out(shape, Wider(a.DType(), b.DType()))
	c.run(func() { t.backend().MatMul(p.with(y, a.data, b.data).Plan()) })
	return c.value(y, []*tensor.Tensor{a.data, b.data}, func(back *back) {
		back.each(0, func(da *tensor.Tensor) {
			t.backend().MatMul(p.forA().with(da, back.dy, back.saved(1)).Plan())
		})
		back.each(1, func(db *tensor.Tensor) {
			t.backend().MatMul(p.forB().with(db, back.saved(0), back.dy).Plan())
		})
	})
}

// product is the shape of a matrix product.
type product device.MatMul

// productOf matches the shapes. One matrix b for a batch of a is one product
// with the rows of all of a.
func productOf(a, b tensor.Shape) product {
	if len(a) < 2 || len(b) < 2 || a[len(a)-1] != b[len(b)-2] {
		panic(fmt.Sprintf("autograd: matmul of shapes %v and %v", a, b))
	}
	m, k, n := a[len(a)-2], a[len(a)-1], b[len(b)-1]
	if len(b) == 2 {
		return product{M: rowsOf(a), K: k, N: n, Batch: 1}
	}
	if !a[:len(a)-2].Equal(b[:len(b)-2]) {
		panic(fmt.Sprintf("autograd: matmul of shapes %v and %v", a, b))
	}
	return product{M: m, K: k, N: n, Batch: a[:len(a)-2].Size(), StrideA: m * k, StrideB: k * n, StrideC: m * n}
}

func (p product) with(c, a, b *tensor.Tensor) device.MatMul {
	m := device.MatMul(p)
	m.C, m.A, m.B = c.Array(), a.Array(), b.Array()
	return m
}

// forA is dA = dC·Bᵀ.
func (p product) forA() product {
	return product{
		M: p.M, N: p.K, K: p.N, TransB: true,
		Batch: p.Batch, StrideA: p.StrideC, StrideB: p.StrideB, StrideC: p.StrideA,
	}
}

// forB is dB = Aᵀ·dC.
func (p product) forB() product {
	return product{
		M: p.K, N: p.N, K: p.M, TransA: true,
		Batch: p.Batch, StrideA: p.StrideA, StrideB: p.StrideC, StrideC: p.StrideB,
	}
}

// Linear returns x·wᵀ + b: x is [..., In], w [Out, In], b [Out] or nil. The
// result has the weight's type, so that a model computes in its own precision
// whatever it is fed.
func (t *Tape) Linear(x, w, bias *Value) *Value {
	in := []*Value{x, w}
	if bias != nil {
		in = append(in, bias)
	}
	c := t.begin("linear", in...)
	defer c.end()
	c.contiguous(0, 1)
	x, w = c.in[0], c.in[1]
	of := linearOf(x.Shape(), c.in)
	n, weights := of.N, w.data
	if bias == nil {
		weights = c.wholeWeights(w.data)
		of.N = weights.Shape()[0]
	}
	y := c.out(slices.Concat(x.Shape()[:len(x.Shape())-1], tensor.Shape{of.N}), w.DType())
	v := c.value(c.narrowed(y, n), []*tensor.Tensor{x.data, w.data}, func(b *back) { b.linear(of, n) })
	c.run(func() {
		m := of.with(y, x.data, weights)
		if bias != nil {
			m.Bias = c.in[2].data.Array()
		}
		if t.activated && of.N == n {
			c.awaitProduct(v, m)
			return
		}
		t.backend().MatMul(m.Plan())
	})
	if of.N != n {
		v.padTo(of.N)
	}
	return v
}

func linearOf(x tensor.Shape, in []*Value) product {
	w := in[1].Shape()
	if len(x) == 0 || len(w) != 2 || x.Last() != w[1] {
		panic(fmt.Sprintf("autograd: linear of shapes %v and %v", x, w))
	}
	if len(in) == 3 && !in[2].Shape().Equal(w[:1]) {
		panic(fmt.Sprintf("autograd: linear with bias of shape %v and weight of %v", in[2].Shape(), w))
	}
	return product{M: rowsOf(x), K: w[1], N: w[0], TransB: true}
}

// linear is dx = dy·w, dw = dyᵀ·x and db = Σrows dy, of n columns, and of the
// columns of padding if dy has them. The product that makes dw also sums dy. If x
// is an activation's result, dx may become the gradient of the activation's
// input.
func (b *back) linear(p product, n int) {
	k, dy := b.backend(), b.dy
	padded := !dy.Contiguous()
	if padded {
		dy = b.hold(dy.Whole())
	} else {
		p.N = n
	}
	b.each(0, func(dx *tensor.Tensor) {
		w := b.saved(1)
		if padded {
			w = b.wholeWeights(w)
		}
		m := product{M: p.M, N: p.K, K: p.N}.with(dx, dy, w)
		b.takeSlope(&m, dx)
		k.MatMul(m.Plan())
	})
	bias := len(b.node.in) == 3 && b.wants(2)
	if b.wants(1) {
		dw := b.padRows(1, p.N)
		m := product{M: p.N, N: p.K, K: p.M, TransA: true}.with(b.hold(dw.Whole()), dy, b.saved(0))
		if bias {
			db := b.grad(2)
			m.SumA = db.Array()
			defer b.give(2, db)
		}
		k.MatMul(m.Plan())
		b.give(1, dw)
	}
	if bias && !b.wants(1) {
		b.each(2, func(db *tensor.Tensor) {
			k.Reduce(device.Sum, db.Array(), b.dy.Array(), 1, p.M, p.N)
		})
	}
}
