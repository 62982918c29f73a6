package cpu

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

// everything runs each kind of operation once and returns all results' bits.
// Two rigs of the same seed get the same operands.
func everything(r *rig, kind device.DType) map[string][]byte {
	const rows, cols = 150, 520
	results := map[string][]byte{}
	keep := func(name string, arrays ...device.Array) {
		for _, a := range arrays {
			results[name] = append(results[name], r.bytes(a)...)
		}
	}
	x, y, dy := r.normals(kind, rows*cols), r.array(kind, rows*cols), r.normals(kind, rows*cols)
	r.Unary(device.GELUTanh, y, x)
	keep("unary", y)
	r.Binary(device.Add, y, x, r.normals(kind, cols))
	keep("binary", y)
	r.Softmax(y, x, rows, cols, false)
	keep("softmax", y)
	r.Dropout(y, x, device.Array{}, 0.1, device.Seed{Seed: 3})
	keep("dropout", y)
	r.Normal(y, 0, 1, device.Seed{Seed: 4})
	keep("normal", y)
	total, sums := r.array(kind, 1), r.array(kind, cols)
	r.Reduce(device.Sum, total, x, 1, rows*cols, 1)
	r.Reduce(device.Mean, sums, x, 1, rows, cols)
	norm := r.array(device.Float32, 1)
	r.Norm2(norm, []device.Array{x, dy})
	keep("reductions", total, sums, norm)
	c := newNormCase(r, kind, rows, cols, true, false)
	c.run(r)
	keep("layer norm", c.n.Y, c.g.DX, c.g.DWeight, c.g.DBias)
	targets := make([]int, rows)
	e := newEntropy(r, kind, device.Int64, targets, cols)
	r.CrossEntropy(e)
	r.CrossEntropyBackward(y, e, e.Loss)
	keep("cross entropy", e.Loss, y)
	ids := make([]float64, rows)
	table := r.normals(kind, 3*cols)
	r.ScatterAdd(table, x, r.put(device.Int64, ids...), 3, cols)
	keep("scatter add", table)
	for _, k := range attentionKinds {
		a := newAttentionCase(r, kind, device.Attention{Kind: k, Batch: 2, Heads: 3, Queries: 130, Keys: 130, Dim: 16, Causal: true})
		r.Attention(a.a.Plan())
		r.AttentionBackward(a.g.Plan())
		keep("attention "+k.String(), a.a.O.Array, a.g.DQ.Array, a.g.DK.Array, a.g.DV.Array)
	}
	conv, grad := newConv(r, kind, convolutions["padded"])
	r.Conv2D(conv.Plan())
	r.Conv2DBackward(grad.Plan())
	keep("convolution", conv.Y, grad.DX, grad.DWeight, grad.DBias)
	m := device.MatMul{M: rows, N: 300, K: cols, A: x, B: r.normals(kind, 300*cols), C: r.array(kind, rows*300), TransB: true}
	r.MatMul(m.Plan())
	keep("matmul", m.C)
	return results
}

func TestResultsDoNotDependOnTheNumberOfThreads(t *testing.T) {
	for _, kind := range []device.DType{device.Float32, device.Float64, device.BFloat16} {
		t.Run(kind.String(), func(t *testing.T) {
			want := everything(newRig(t, 1), kind)
			for _, threads := range []int{3, 8} {
				for name, got := range everything(newRig(t, threads), kind) {
					if !bytes.Equal(got, want[name]) {
						t.Errorf("%s: other bits with %d threads than with one", name, threads)
					}
				}
			}
		})
	}
}

func TestOperationsAllocateNothingOnceWarm(t *testing.T) {
	for _, kind := range []device.DType{device.Float32, device.BFloat16} {
		for _, threads := range []int{1, 2} {
			t.Run(fmt.Sprintf("%v, %d threads", kind, threads), func(t *testing.T) {
				r := newRig(t, threads)
				for name, do := range operations(r, kind) {
					if got := allocationsWarm(do); got >= 1 {
						t.Errorf("%s: %v allocations", name, got)
					}
				}
			})
		}
	}
}

// allocationsWarm returns how often do allocates once every worker has taken
// part in it: on a busy machine a worker may wake too late for the first calls,
// and makes its scratch when it first helps.
func allocationsWarm(do func()) float64 {
	const patience = 20
	do()
	got := testing.AllocsPerRun(5, do)
	for i := 0; i < patience && got >= 1; i++ {
		got = testing.AllocsPerRun(5, do)
	}
	return got
}

// operations returns calls that can be made again and again.
func operations(r *rig, kind device.DType) map[string]func() {
	const rows, cols = 128, 512
	x, y, dy := r.normals(kind, rows*cols), r.array(kind, rows*cols), r.normals(kind, rows*cols)
	bias, sums := r.normals(kind, cols), r.array(kind, cols)
	norm := newNormCase(r, kind, rows, cols, true, false)
	entropy := newEntropy(r, kind, device.Int64, make([]int, rows), cols)
	conv, convGrad := newConv(r, kind, convolutions["padded"])
	weight := r.normals(kind, cols*cols)
	one, found, tracker := r.put(device.Float32, 1), r.put(device.Float32, 0), r.put(device.Float32, 0)
	adamw := device.Update{
		Rule: device.AdamW, LR: 0.01, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Step: one, FoundInf: found,
		List: []device.Parameter{{P: r.normals(device.Float32, rows*cols), G: dy, M: r.put(device.Float32, make([]float64, rows*cols)...), V: r.put(device.Float32, make([]float64, rows*cols)...)}},
	}
	list := []device.Array{y}
	all := map[string]func(){
		"fill":          func() { r.Fill(y, 3) },
		"unary":         func() { r.Unary(device.GELUTanh, y, x) },
		"unary grad":    func() { r.UnaryBackward(device.SiLU, y, x, dy) },
		"binary":        func() { r.Binary(device.Add, y, x, bias) },
		"add scaled":    func() { r.AddScaled(y, x, dy, 2) },
		"reduce":        func() { r.Reduce(device.Sum, sums, x, 1, rows, cols) },
		"layer norm":    func() { norm.run(r) },
		"softmax":       func() { r.Softmax(y, x, rows, cols, false) },
		"cross entropy": func() { r.CrossEntropy(entropy); r.CrossEntropyBackward(y, entropy, entropy.Loss) },
		"dropout":       func() { r.Dropout(y, x, device.Array{}, 0.1, device.Seed{}) },
		"convolution":   func() { r.Conv2D(conv.Plan()); r.Conv2DBackward(convGrad.Plan()) },
		"matmul":        func() { r.MatMul(device.MatMul{M: rows, N: cols, K: cols, A: x, B: weight, C: y, Bias: bias}.Plan()) },
		"norm2":         func() { r.Norm2(one, list) },
		"unscale":       func() { r.Unscale(list, one, found) },
		"adamw":         func() { r.Update(adamw.Plan()) },
		"loss scale":    func() { r.UpdateScale(one, tracker, found, 2, 0.5, 1<<20) },
	}
	for _, k := range attentionKinds {
		a := newAttentionCase(r, kind, device.Attention{Kind: k, Batch: 2, Heads: 3, Queries: 70, Keys: 70, Dim: 16, Causal: true})
		all["attention "+k.String()] = func() { r.Attention(a.a.Plan()); r.AttentionBackward(a.g.Plan()) }
	}
	return all
}
