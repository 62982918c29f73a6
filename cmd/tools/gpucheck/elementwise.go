package main

import "github.com/memtop/memtop/engine/device"

// at returns where an operand is.
type at = func(*operand) device.Array

var seed = device.Seed{Seed: 42, Offset: 7}

// elementwise are the operations on elements, on the activations of a layer.
var elementwise = []row{
	{"Fill", "", halves, func(t *trial, d device.DType, s shapes) {
		y := t.out(d, t.rows, s.hidden)
		t.do = func(b device.Backend, _ int, at at) { b.Fill(at(y), 1.5) }
	}},
	{"Cast", "float32 to ", []device.DType{device.BFloat16, device.Float16}, func(t *trial, d device.DType, s shapes) {
		x, y := t.in(device.Float32, t.rows, s.hidden), t.out(d, t.rows, s.hidden)
		t.do = func(b device.Backend, _ int, at at) { b.Cast(at(y), at(x)) }
	}},
	{"Unary", "gelu ", halves, func(t *trial, d device.DType, s shapes) {
		x, y := t.in(d, t.rows, s.hidden), t.out(d, t.rows, s.hidden)
		t.do = func(b device.Backend, _ int, at at) { b.Unary(device.GELUTanh, at(y), at(x)) }
	}},
	{"UnaryBackward", "gelu ", halves, func(t *trial, d device.DType, s shapes) {
		x, dy, dx := t.in(d, t.rows, s.hidden), t.in(d, t.rows, s.hidden), t.out(d, t.rows, s.hidden)
		t.do = func(b device.Backend, _ int, at at) { b.UnaryBackward(device.GELUTanh, at(dx), at(x), at(dy)) }
	}},
	{"Binary", "add a row, ", halves, func(t *trial, d device.DType, s shapes) {
		x, v, y := t.in(d, t.rows, s.width), t.in(d, 1, s.width).all(), t.out(d, t.rows, s.width)
		t.do = func(b device.Backend, _ int, at at) { b.Binary(device.Add, at(y), at(x), at(v)) }
	}},
	{"AddScaled", "into float32 ", halves, func(t *trial, d device.DType, s shapes) {
		x, y := t.in(d, t.rows, s.width), t.inOut(device.Float32, t.rows, s.width)
		t.do = func(b device.Backend, _ int, at at) { b.AddScaled(at(y), at(y), at(x), 0.5) }
	}},
	{"Scale", "", halves, func(t *trial, d device.DType, s shapes) {
		x, y := t.in(d, t.rows, s.width), t.out(d, t.rows, s.width)
		t.do = func(b device.Backend, _ int, at at) { b.Scale(at(y), at(x), 0.3) }
	}},
	{"ScaleBy", "", halves, func(t *trial, d device.DType, s shapes) {
		x, f, y := t.in(d, t.rows, s.width), t.one(input, 0.3), t.out(d, t.rows, s.width)
		t.do = func(b device.Backend, _ int, at at) { b.ScaleBy(at(y), at(x), at(f)) }
	}},
	{"CopyStrided", "heads before rows, ", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows = s.batch
		x, y := t.in(d, s.batch, s.length*s.width), t.out(d, s.batch, s.length*s.width)
		t.do = func(b device.Backend, rows int, at at) {
			each, wide := s.width/s.heads, s.length*s.width
			b.CopyStrided(device.Strided{Base: at(y), Strides: []int{wide, s.length * each, each, 1}},
				device.Strided{Base: at(x), Strides: []int{wide, each, s.width, 1}}, []int{rows, s.heads, s.length, each})
		}
	}},
	{"Reduce", "columns ", mixed, func(t *trial, d device.DType, s shapes) {
		n := t.rows
		t.rows = s.width
		x, y := t.in(d, n, s.width).columns(), t.out(device.Float32, s.width, 1)
		x.values = values{mean: 0.5, deviation: 1} // sums that are not nearly 0
		t.do = func(b device.Backend, rows int, at at) { b.Reduce(device.Sum, at(y), at(x), 1, n, rows) }
	}},
	{"Reduce", "rows ", mixed, func(t *trial, d device.DType, s shapes) {
		x, y := t.in(d, t.rows, s.hidden).holding(values{mean: 0.5, deviation: 1}), t.out(device.Float32, t.rows, 1)
		t.do = func(b device.Backend, rows int, at at) { b.Reduce(device.Mean, at(y), at(x), rows, s.hidden, 1) }
	}},
	{"Dropout", "", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows, t.exact = 1, true
		x, y, mask := t.in(d, s.tokens(), s.width).all(), t.out(d, s.tokens(), s.width).all(), t.out(device.UInt8, s.tokens(), s.width).all()
		t.do = func(b device.Backend, _ int, at at) { b.Dropout(at(y), at(x), at(mask), 0.1, seed) }
	}},
	{"DropoutBackward", "", mixed, func(t *trial, d device.DType, s shapes) {
		dy, mask, dx := t.in(d, t.rows, s.width), t.in(device.UInt8, t.rows, s.width).holding(values{below: 2}), t.out(d, t.rows, s.width)
		t.do = func(b device.Backend, _ int, at at) { b.DropoutBackward(at(dx), at(dy), at(mask), 0.1) }
	}},
	{"Uniform", "", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows, t.exact = 1, true
		y := t.out(d, s.tokens(), s.width).all()
		t.do = func(b device.Backend, _ int, at at) { b.Uniform(at(y), -1, 1, seed) }
	}},
	{"Normal", "", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows, t.exact = 1, true
		y := t.out(d, s.tokens(), s.width).all()
		t.do = func(b device.Backend, _ int, at at) { b.Normal(at(y), 0, 0.02, seed) }
	}},
}
