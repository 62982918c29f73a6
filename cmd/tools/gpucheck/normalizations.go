package main

import "github.com/memtop/memtop/engine/device"

// normalizations are the operations on whole rows: of an activation, of scores
// and of logits.
var normalizations = []row{
	{"Normalize", "layer norm ", halves, func(t *trial, d device.DType, s shapes) { norm(t, d, s, false) }},
	{"Normalize", "RMS norm ", mixed, func(t *trial, d device.DType, s shapes) { norm(t, d, s, true) }},
	{"NormalizeBackward", "layer norm ", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows, t.slack = 1, 2 // the parameters' gradients are of all rows
		n := s.tokens()
		x, dy, w := t.in(d, n, s.width).all(), t.in(d, n, s.width).all(), t.in(d, 1, s.width).all()
		mean, rstd := t.in(device.Float32, n, 1).all(), t.in(device.Float32, n, 1).all().holding(values{mean: 1, deviation: 0.1})
		dx := t.out(d, n, s.width).all()
		dw, db := t.out(device.Float32, 1, s.width).all(), t.out(device.Float32, 1, s.width).all()
		t.do = func(b device.Backend, _ int, at at) {
			b.NormalizeBackward(device.NormBackward{
				N:  device.Norm{Rows: n, Cols: s.width, Eps: 1e-5, X: at(x), Weight: at(w), Mean: at(mean), RStd: at(rstd)},
				DY: at(dy), DX: at(dx), DWeight: at(dw), DBias: at(db),
			}.Plan())
		}
	}},
	{"Softmax", "", mixed, func(t *trial, d device.DType, s shapes) {
		x, y := t.in(d, t.rows, s.length), t.out(d, t.rows, s.length)
		t.do = func(b device.Backend, rows int, at at) { b.Softmax(at(y), at(x), rows, s.length) }
	}},
	{"SoftmaxBackward", "", mixed, func(t *trial, d device.DType, s shapes) {
		y, dy, dx := t.in(d, t.rows, s.length), t.in(d, t.rows, s.length), t.out(d, t.rows, s.length)
		t.slack = 2
		t.do = func(b device.Backend, rows int, at at) { b.SoftmaxBackward(at(dx), at(y), at(dy), rows, s.length) }
	}},
	{"CrossEntropy", "log-sum-exp of rows, ", mixed, func(t *trial, d device.DType, s shapes) {
		e, of := entropy(t, d, s, t.rows)
		loss, count := t.out(device.Float32, 1, 1).all(), t.out(device.Float32, 1, 1).all()
		loss.role, count.role = scratch, scratch // of all rows
		loss.cols, count.cols = 2, 2
		t.do = func(b device.Backend, rows int, at at) {
			of(&e, rows, at)
			one := func(o *operand) device.Array { return device.Array{Addr: at(o).Addr, Len: 1, DType: e.LSE.DType} }
			e.Loss, e.Count = one(loss), one(count)
			b.CrossEntropy(e)
		}
	}},
	{"CrossEntropy", "mean of 256 rows, ", mixed, func(t *trial, d device.DType, s shapes) {
		n := min(256, t.rows)
		t.rows = 1
		e, of := entropy(t, d, s, n)
		for _, o := range t.operands {
			o.all()
		}
		loss, count := t.out(device.Float32, 1, 1).all(), t.out(device.Float32, 1, 1).all()
		t.do = func(b device.Backend, _ int, at at) {
			of(&e, n, at)
			e.Loss, e.Count = at(loss), at(count)
			b.CrossEntropy(e)
		}
	}},
	{"CrossEntropyBackward", "", mixed, func(t *trial, d device.DType, s shapes) {
		e, of := entropy(t, d, s, t.rows)
		lse := t.operands[2]
		lse.role, lse.values = input, values{mean: 10, deviation: 1}
		count := t.in(device.Float32, 1, 1).all().holding(values{mean: float64(s.tokens())})
		dloss, dx := t.in(device.Float32, 1, 1).all().holding(values{mean: 1}), t.out(d, t.rows, s.vocab)
		t.slack = 2
		t.do = func(b device.Backend, rows int, at at) {
			of(&e, rows, at)
			e.Count = at(count)
			e.Loss = e.Count // not read
			b.CrossEntropyBackward(at(dx), e, at(dloss))
		}
	}},
}

// norm is a forward normalisation.
func norm(t *trial, d device.DType, s shapes, rms bool) {
	x, w, bias := t.in(d, t.rows, s.width), t.in(d, 1, s.width).all(), t.in(d, 1, s.width).all()
	y, mean, rstd := t.out(d, t.rows, s.width), t.out(device.Float32, t.rows, 1), t.out(device.Float32, t.rows, 1)
	x.values = values{mean: 0.5, deviation: 1}
	if rms {
		bias.role, mean.role = scratch, scratch
	}
	t.do = func(b device.Backend, rows int, at at) {
		n := device.Norm{RMS: rms, Rows: rows, Cols: s.width, Eps: 1e-5, X: at(x), Y: at(y), Weight: at(w), RStd: at(rstd)}
		if !rms {
			n.Bias, n.Mean = at(bias), at(mean)
		}
		b.Normalize(n.Plan())
	}
}

// entropy returns a loss of n rows, and what completes it but for Loss and Count.
// Its operands are logits, targets and LSE.
func entropy(t *trial, d device.DType, s shapes, n int) (e device.CrossEntropy, of func(e *device.CrossEntropy, rows int, at at)) {
	logits, targets := t.in(d, n, s.vocab), t.in(device.Int64, n, 1).holding(values{below: s.vocab})
	lse := t.out(device.Float32, n, 1)
	e = device.CrossEntropy{Classes: s.vocab, IgnoreIndex: -100}
	return e, func(e *device.CrossEntropy, rows int, at at) {
		e.Rows, e.Logits, e.Targets, e.LSE = rows, at(logits), at(targets), at(lse)
	}
}
