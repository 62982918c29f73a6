package main

import "github.com/memtop/memtop/engine/device"

// lookups are the embedding and its gradient, with as many ids as there are
// tokens.
var lookups = []row{
	{"Gather", "", mixed, func(t *trial, d device.DType, s shapes) {
		table, ids, y := t.in(d, s.vocab, s.width).all(), t.ids(s), t.out(d, t.rows, s.width)
		t.do = func(b device.Backend, _ int, at at) { b.Gather(at(y), at(table), at(ids), s.vocab, s.width) }
	}},
	{"ScatterAdd", "into float32 ", mixed, func(t *trial, d device.DType, s shapes) {
		src, ids, table := t.in(d, s.tokens(), s.width).all(), t.ids(s).all(), t.inOut(device.Float32, s.vocab, s.width).all()
		t.rows = 1 // an id may be in every row
		t.do = func(b device.Backend, _ int, at at) { b.ScatterAdd(at(table), at(src), at(ids), s.vocab, s.width) }
	}},
}

func (t *trial) ids(s shapes) *operand {
	return t.in(device.Int64, t.rows, 1).holding(values{below: s.vocab})
}

// updates are an optimizer's step and what goes before it, on lists of arrays.
var updates = []row{
	{"Update", "AdamW, clipped gradients of ", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows = s.vocab
		p, m, v := t.inOut(device.Float32, t.rows, s.width), t.inOut(device.Float32, t.rows, s.width), t.inOut(device.Float32, t.rows, s.width)
		v.values = values{mean: 1, deviation: 0.1}
		g, low, step := t.in(d, t.rows, s.width), t.out(device.BFloat16, t.rows, s.width), t.one(input, 3)
		norm := t.one(input, 4)
		t.do = func(b device.Backend, rows int, at at) {
			u := adamw(at(step))
			u.Norm, u.Limit = at(norm), 1
			for _, part := range parts(rows) {
				cut := func(o *operand) device.Array { return at(o).Slice(part[0]*s.width, part[1]*s.width) }
				u.List = append(u.List, device.Parameter{P: cut(p), G: cut(g), M: cut(m), V: cut(v), Low: cut(low)})
			}
			b.Update(u.Plan())
		}
	}},
	{"Update", "AdamW in 8 bits, gradients of ", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows, t.exact = s.hidden, true
		blocks := s.width / device.QuantBlock
		p, g := t.inOut(device.Float32, t.rows, s.width), t.in(d, t.rows, s.width)
		m, v := t.inOut(device.UInt8, t.rows, s.width).holding(values{below: 200}), t.inOut(device.UInt8, t.rows, s.width).holding(values{below: 200})
		sm, sv := t.inOut(device.Float32, t.rows, blocks), t.inOut(device.Float32, t.rows, blocks)
		sm.values, sv.values = values{mean: 0.5, deviation: 0.01}, values{mean: 0.5, deviation: 0.01}
		step := t.one(input, 3)
		t.do = func(b device.Backend, _ int, at at) {
			u := adamw(at(step))
			u.Rule = device.AdamW8
			u.List = []device.Parameter{{P: at(p), G: at(g), M: at(m), V: at(v), ScaleM: at(sm), ScaleV: at(sv)}}
			b.Update(u.Plan())
		}
	}},
	{"AdvanceStep", "", single, func(t *trial, _ device.DType, _ shapes) {
		t.rows = 1
		step, found := t.one(changed, 5), t.one(input, 0)
		t.do = func(b device.Backend, _ int, at at) { b.AdvanceStep(at(step), at(found)) }
	}},
	{"UpdateScale", "", single, func(t *trial, _ device.DType, _ shapes) {
		t.rows = 1
		scale, tracker, found := t.one(changed, 1024), t.one(changed, 1999), t.one(input, 0)
		t.do = func(b device.Backend, _ int, at at) { b.UpdateScale(at(scale), at(tracker), at(found), 2, 0.5, 2000) }
	}},
	{"Norm2", "of a list, ", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows = 1
		g, norm := t.in(d, s.hidden, s.width).all(), t.out(device.Float32, 1, 1).all()
		t.do = func(b device.Backend, _ int, at at) { b.Norm2(at(norm), list(at(g), s)) }
	}},
	{"Unscale", "a list, ", mixed, func(t *trial, d device.DType, s shapes) {
		t.rows = 1
		g, scale, found := t.inOut(d, s.hidden, s.width).all(), t.one(input, 1000), t.one(changed, 0)
		t.do = func(b device.Backend, _ int, at at) { b.Unscale(list(at(g), s), at(scale), at(found)) }
	}},
}

func adamw(step device.Array) device.Update {
	return device.Update{Rule: device.AdamW, LR: 1e-3, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Step: step}
}

// parts divides rows as a model's parameters are divided: where each begins, and
// how many rows it has.
func parts(rows int) (list [][2]int) {
	const most = 300
	for from := 0; from < rows; from += most {
		list = append(list, [2]int{from, min(most, rows-from)})
	}
	return list
}

// list divides an array into many.
func list(a device.Array, s shapes) (arrays []device.Array) {
	for _, part := range parts(a.Len / s.width) {
		arrays = append(arrays, a.Slice(part[0]*s.width, part[1]*s.width))
	}
	return arrays
}
