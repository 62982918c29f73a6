package main

import "github.com/memtop/memtop/engine/device"

// products are the products of a step: of a linear layer and of the head, and
// the gradients of both.
var products = []row{
	linear("x·wᵀ", false, true, func(s shapes) (m, n, k int) { return s.tokens(), s.hidden, s.width }),
	linear("dy·w", false, false, func(s shapes) (m, n, k int) { return s.tokens(), s.width, s.hidden }),
	linear("dyᵀ·x", true, false, func(s shapes) (m, n, k int) { return s.hidden, s.width, s.tokens() }),
	linear("head x·wᵀ", false, true, func(s shapes) (m, n, k int) { return s.tokens(), s.vocab, s.width }),
	{"MatMul", "gelu at the end, ", halves, func(t *trial, d device.DType, s shapes) {
		t.product, t.flops = true, 2*float64(s.tokens()*s.hidden*s.width)
		x, w, bias := t.in(d, t.rows, s.width), t.in(d, s.hidden, s.width).all(), t.in(d, 1, s.hidden).all()
		pre, y := t.out(d, t.rows, s.hidden), t.out(d, t.rows, s.hidden)
		t.do = func(b device.Backend, rows int, at at) {
			b.MatMul(device.MatMul{
				C: at(y), A: at(x), B: at(w), M: rows, N: s.hidden, K: s.width, TransB: true,
				Bias: at(bias), Activate: true, Activation: device.GELUTanh, Pre: at(pre),
			}.Plan())
		}
	}},
	{"Conv2D", "3×3 ", mixed, func(t *trial, d device.DType, s shapes) {
		c, x, w := convolution(t, d, s)
		bias, y := t.in(d, 1, s.channels).all(), t.out(d, s.batch, s.channels*s.image*s.image)
		work := t.work(c.Workspace())
		t.do = func(b device.Backend, rows int, at at) {
			c := c
			c.Batch, c.X, c.Weight, c.Bias, c.Y = rows, at(x), at(w), at(bias), at(y)
			c.Work = at(work).Buffer()
			b.Conv2D(c.Plan())
		}
	}},
	{"Conv2DBackward", "3×3 ", mixed, func(t *trial, d device.DType, s shapes) {
		c, x, w := convolution(t, d, s)
		t.rows, t.flops = 1, 2*t.flops // the weights' gradient is of all images
		dy := t.in(d, s.batch, s.channels*s.image*s.image).all()
		dx, dw := t.out(d, s.batch, s.channels*s.image*s.image).all(), t.out(device.Float32, s.channels, s.channels*9).all()
		x.all()
		work := t.work(c.BackwardWorkspace())
		t.do = func(b device.Backend, _ int, at at) {
			c := c
			c.X, c.Weight = at(x), at(w)
			c.Y.DType = at(dy).DType
			b.Conv2DBackward(device.Conv2DBackward{C: c, DY: at(dy), DX: at(dx), DWeight: at(dw), Work: at(work).Buffer()}.Plan())
		}
	}},
}

// linear is one product in a layer, with a sample of its rows.
func linear(name string, transA, transB bool, sizes func(shapes) (m, n, k int)) row {
	return row{"MatMul", name + " ", halves, func(t *trial, d device.DType, s shapes) {
		m, n, k := sizes(s)
		t.rows, t.product, t.flops = m, true, 2*float64(m)*float64(n)*float64(k)
		x, w, y := t.in(d, m, k), t.in(d, k, n).all(), t.out(d, m, n)
		if transA {
			x.rows, x.cols = k, m
			x.columns()
		}
		t.do = func(b device.Backend, rows int, at at) {
			b.MatMul(device.MatMul{C: at(y), A: at(x), B: at(w), M: rows, N: n, K: k, TransA: transA, TransB: transB}.Plan())
		}
	}}
}

// convolution returns a convolution without its arrays, its images and its
// weights.
func convolution(t *trial, d device.DType, s shapes) (c device.Conv2D, x, w *operand) {
	t.rows = s.batch
	pixels := s.image * s.image
	c = device.Conv2D{
		Batch: s.batch, InChannels: s.channels, OutChannels: s.channels, InHeight: s.image, InWidth: s.image,
		KernelHeight: 3, KernelWidth: 3, PadHeight: 1, PadWidth: 1,
	}
	t.flops = 2 * float64(s.batch*pixels*s.channels*s.channels*9)
	return c, t.in(d, s.batch, s.channels*pixels), t.in(d, s.channels, s.channels*9).all()
}
