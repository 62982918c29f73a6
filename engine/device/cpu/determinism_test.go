package cpu

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

func TestResultsDoNotDependOnTheNumberOfThreads(t *testing.T) {
	for _, kind := range []device.DType{device.Float32, device.Float64, device.BFloat16} {
		t.Run(kind.String(), func(t *testing.T) {
			want := results(newRig(t, 1), kind)
			for _, threads := range []int{3, 8} {
				for name, got := range results(newRig(t, threads), kind) {
					if !bytes.Equal(got, want[name]) {
						t.Errorf("%s: other bits with %d threads than with one", name, threads)
					}
				}
			}
		})
	}
}

// results runs each operation once, and returns the bits of what it wrote. Two rigs of the
// same seed get the same operands.
func results(r *rig, kind device.DType) map[string][]byte {
	bits := make(map[string][]byte)
	for name, o := range operations(r, kind) {
		o.do()
		for _, a := range o.writes {
			bits[name] = append(bits[name], r.bytes(a)...)
		}
	}
	return bits
}

func TestOperationsAllocateNothingOnceWarm(t *testing.T) {
	for _, kind := range []device.DType{device.Float32, device.BFloat16} {
		for _, threads := range []int{1, 2} {
			t.Run(fmt.Sprintf("%v, %d threads", kind, threads), func(t *testing.T) {
				r := newRig(t, threads)
				for name, o := range operations(r, kind) {
					if got := allocationsWarm(o.do); got >= 1 {
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

// operation is a call that can be made again and again, and what it writes.
type operation struct {
	do     func()
	writes []device.Array
}

// operations returns one of each kind, each with arrays of its own to write.
func operations(r *rig, kind device.DType) map[string]operation {
	const rows, cols = 150, 520
	all := make(map[string]operation)
	add := func(name string, do func(), writes ...device.Array) { all[name] = operation{do, writes} }
	single := func(name string, do func(y device.Array)) {
		y := r.array(kind, rows*cols)
		add(name, func() { do(y) }, y)
	}
	x, dy, bias := r.normals(kind, rows*cols), r.normals(kind, rows*cols), r.normals(kind, cols)
	single("fill", func(y device.Array) { r.Fill(y, 3) })
	single("unary", func(y device.Array) { r.Unary(device.GELUTanh, y, x) })
	single("unary grad", func(y device.Array) { r.UnaryBackward(device.SiLU, y, x, dy) })
	single("binary", func(y device.Array) { r.Binary(device.Add, y, x, bias) })
	single("add scaled", func(y device.Array) { r.AddScaled(y, x, dy, 2) })
	single("softmax", func(y device.Array) { r.Softmax(y, x, rows, cols, false) })
	single("dropout", func(y device.Array) { r.Dropout(y, x, device.Array{}, 0.1, device.Seed{Seed: 3}) })
	single("normal", func(y device.Array) { r.Normal(y, 0, 1, device.Seed{Seed: 4}) })
	weight := r.normals(kind, cols*cols)
	single("matmul", func(y device.Array) {
		r.MatMul(device.MatMul{M: rows, N: cols, K: cols, A: x, B: weight, C: y, Bias: bias}.Plan())
	})
	product := r.array(kind, rows*300)
	turned := device.MatMul{M: rows, N: 300, K: cols, A: x, B: r.normals(kind, 300*cols), C: product, TransB: true}.Plan()
	add("matmul, turned", func() { r.MatMul(turned) }, product)
	total, sums, length := r.array(kind, 1), r.array(kind, cols), r.array(device.Float32, 1)
	add("sum", func() { r.Reduce(device.Sum, total, x, 1, rows*cols, 1) }, total)
	add("mean", func() { r.Reduce(device.Mean, sums, x, 1, rows, cols) }, sums)
	list := []device.Array{x, dy}
	add("norm2", func() { r.Norm2(length, list) }, length)
	norm := newNormCase(r, kind, rows, cols, true, false)
	add("layer norm", func() { norm.run(r) }, norm.n.Y, norm.g.DX, norm.g.DWeight, norm.g.DBias)
	entropy := newEntropy(r, kind, device.Int64, make([]int, rows), cols)
	single("cross entropy", func(y device.Array) { r.CrossEntropy(entropy); r.CrossEntropyBackward(y, entropy, entropy.Loss) })
	table, ids := r.normals(kind, 3*cols), r.put(device.Int64, make([]float64, rows)...)
	add("scatter add", func() { r.ScatterAdd(table, x, ids, 3, cols) }, table)
	conv, grad := newConv(r, kind, convolutions["padded"])
	add("convolution", func() { r.Conv2D(conv.Plan()); r.Conv2DBackward(grad.Plan()) }, conv.Y, grad.DX, grad.DWeight, grad.DBias)
	one, found, tracker := r.put(device.Float32, 1), r.put(device.Float32, 0), r.put(device.Float32, 0)
	scaled := []device.Array{r.normals(kind, rows*cols)}
	add("unscale", func() { r.Unscale(scaled, one, found) }, scaled...)
	add("loss scale", func() { r.UpdateScale(one, tracker, found, 2, 0.5, 1<<20) })
	p := device.Parameter{P: r.normals(device.Float32, rows*cols), G: dy, M: r.array(device.Float32, rows*cols), V: r.array(device.Float32, rows*cols)}
	adamw := device.Update{
		Rule: device.AdamW, LR: 0.01, WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Step: one, FoundInf: found, List: []device.Parameter{p},
	}
	add("adamw", func() { r.Update(adamw.Plan()) }, p.P)
	for _, k := range attentionKinds {
		a := newAttentionCase(r, kind, device.Attention{Kind: k, Batch: 2, Heads: 3, Queries: 130, Keys: 130, Dim: 16, Causal: true})
		add("attention "+k.String(), func() { r.Attention(a.a.Plan()); r.AttentionBackward(a.g.Plan()) },
			a.a.O.Array, a.g.DQ.Array, a.g.DK.Array, a.g.DV.Array)
	}
	return all
}
