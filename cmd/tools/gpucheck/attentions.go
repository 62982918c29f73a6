package main

import "github.com/memtop/memtop/engine/device"

// attentions are causal attention on the output of one projection.
var attentions = []row{
	{"Attention", "flash, causal, ", halves, func(t *trial, d device.DType, s shapes) {
		a, qkv, o, lse := attention(t, d, s)
		a.Kind, t.slack = device.Flash, 2
		t.do = func(b device.Backend, rows int, at at) {
			b.Attention(heads(a, rows, s, at(qkv), at(o), at(lse)).Plan())
		}
	}},
	{"Attention", "naive, causal, ", mixed, func(t *trial, d device.DType, s shapes) {
		a, qkv, o, lse := attention(t, d, s)
		lse.role, t.slack = scratch, 4 // it keeps probabilities, rounded, instead
		probs := t.out(d, s.batch, s.heads*s.length*s.length)
		t.do = func(b device.Backend, rows int, at at) {
			a := heads(a, rows, s, at(qkv), at(o), device.Array{})
			a.Probs = at(probs)
			b.Attention(a.Plan())
		}
	}},
	{"AttentionBackward", "flash, causal, ", halves, func(t *trial, d device.DType, s shapes) {
		a, qkv, o, lse := attention(t, d, s)
		a.Kind, t.slack, t.flops = device.Flash, 4, 2.5*t.flops
		o.role, lse.role, lse.values = input, input, values{mean: 5, deviation: 0.2}
		do, grads := t.in(d, s.batch, s.length*s.width), t.out(d, s.batch, 3*s.length*s.width)
		sized := a
		sized.Batch, sized.Q.DType, sized.K.DType, sized.V.DType, sized.O.DType = s.batch, d, d, d, d
		work := t.work(sized.BackwardWorkspace())
		t.do = func(b device.Backend, rows int, at at) {
			g := heads(a, rows, s, at(grads), at(do), at(lse))
			b.AttentionBackward(device.AttentionBackward{
				A:  heads(a, rows, s, at(qkv), at(o), at(lse)),
				DO: g.O, DQ: g.Q, DK: g.K, DV: g.V, Work: at(work).Buffer(),
			}.Plan())
		}
	}},
}

// attention returns an attention without arrays, the operands of queries, keys
// and values together, of the result, and of what is kept.
func attention(t *trial, d device.DType, s shapes) (a device.Attention, qkv, o, lse *operand) {
	t.rows = s.batch
	t.flops = 2 * float64(s.batch*s.heads) * float64(s.length*s.length*s.dim) // half of the scores
	a = device.Attention{Heads: s.heads, Queries: s.length, Keys: s.length, Dim: s.dim, Causal: true}
	return a, t.in(d, s.batch, 3*s.length*s.width), t.out(d, s.batch, s.length*s.width), t.out(device.Float32, s.batch, s.heads*s.length)
}

// heads completes an attention of some samples.
func heads(a device.Attention, batch int, s shapes, qkv, o, lse device.Array) device.Attention {
	a.Batch, a.LSE = batch, lse
	part := func(i int) device.Heads {
		return device.Heads{
			Array: qkv.Slice(i*s.width, qkv.Len-i*s.width), BatchStride: 3 * s.length * s.width, HeadStride: s.dim, RowStride: 3 * s.width,
		}
	}
	a.Q, a.K, a.V = part(0), part(1), part(2)
	a.O = device.Heads{Array: o, BatchStride: s.length * s.width, HeadStride: s.dim, RowStride: s.width}
	return a
}
