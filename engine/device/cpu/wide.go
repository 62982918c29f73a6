package cpu

import "github.com/memtop/memtop/engine/device"

// wideJob is the product in float64, for gradient checks: plain Go, a few rows
// of C per part.
type wideJob struct {
	g product
	m device.MatMul
}

const wideRows = 8

func (j *wideJob) rowParts() int { return (j.g.m + wideRows - 1) / wideRows }

func (j *wideJob) run(w *worker, part int) {
	g := j.g.batch(j.m, part/j.rowParts())
	from := part % j.rowParts() * wideRows
	multiplyWide(w, &g, from, min(g.m, from+wideRows))
}

// multiplyWide computes the rows of g from one to another.
func multiplyWide(w *worker, g *product, from, to int) {
	var bias []float64
	if !g.bias.absent() {
		bias = load[float64](w, slotWiden, g.bias, 0, g.n)
	}
	for i := from; i < to; i++ {
		x := scratch[float64](w, slotTile, g.n)
		wideRow(g, i, x)
		c := slice[float64](g.c, i*g.ldc, g.n)
		for k := range x {
			x[k] *= g.alpha
			if g.beta != 0 {
				x[k] += g.beta * c[k]
			}
			if bias != nil {
				x[k] += bias[k]
			}
		}
		activated(w, g, i*g.ldc, x)
		copy(c, x)
	}
}

// wideRow sets x to row i of op(A)·op(B).
func wideRow(g *product, i int, x []float64) {
	clear(x)
	for p := range g.k {
		at := i*g.lda + p
		if g.transA {
			at = p*g.lda + i
		}
		a := slice[float64](g.a, at, 1)[0]
		if !g.transB {
			for k, v := range slice[float64](g.b, p*g.ldb, g.n) {
				x[k] += a * v
			}
			continue
		}
		bs := slice[float64](g.b, p, (g.n-1)*g.ldb+1)
		for k := range x {
			x[k] += a * bs[k*g.ldb]
		}
	}
}
