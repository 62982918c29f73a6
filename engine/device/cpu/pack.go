package cpu

import (
	"memtop/engine/device"
	"memtop/engine/device/cpu/simd"
)

// packing says how an operand becomes panels: width rows of A, or columns of B,
// side by side, dst[p·width+i] for k from from to from+depth. What is beyond
// limit is zero.
type packing struct {
	v           view
	stride      int
	alongK      bool // the operand is stored with k contiguous
	limit       int
	width       int
	from, depth int
}

// packA packs n panels from number i on, of the rows from row on.
func (b *block) packA(w *worker, i, n int) {
	g, width := &b.g, b.kernel.Rows
	p := packing{g.a, g.lda, !g.transA, g.m, width, b.from, b.depth}
	dst := b.packedA[i*width*b.depth : (i+n)*width*b.depth]
	p.panels(w, dst, b.row+i*width)
	if alpha := float32(g.alpha); alpha != 1 {
		multiplyRow(dst, dst, alpha)
	}
}

// packB packs n panels from number i on, of the columns from col on.
func (b *block) packB(w *worker, i, n int) {
	g, width := &b.g, b.kernel.Cols
	p := packing{g.b, g.ldb, g.transB, g.n, width, b.from, b.depth}
	p.panels(w, b.packedB[i*width*b.depth:(i+n)*width*b.depth], b.col+i*width)
}

// panels fills dst with whole panels, of which the first begins at first.
func (p *packing) panels(w *worker, dst []float32, first int) {
	size := p.width * p.depth
	if beyond := first + len(dst)/p.depth - p.limit; beyond > 0 {
		clear(dst[len(dst)-size:])
	}
	if !p.alongK {
		p.across(w, dst, first)
		return
	}
	for ; len(dst) > 0; dst, first = dst[size:], first+p.width {
		p.along(w, dst[:size], first)
	}
}

// along packs one panel by turning rows into columns.
func (p *packing) along(w *worker, dst []float32, first int) {
	count := min(p.width, p.limit-first)
	if p.v.kind == device.Float32 {
		rows := slice[float32](p.v, first*p.stride+p.from, (count-1)*p.stride+p.depth)
		simd.Interleave(dst, rows, count, p.depth, p.width, p.stride)
		return
	}
	rows := scratch[float32](w, slotWiden, count*p.depth)
	for i := range count {
		widen(rows[i*p.depth:(i+1)*p.depth], p.v, (first+i)*p.stride+p.from)
	}
	simd.Interleave(dst, rows, count, p.depth, p.width, p.depth)
}

// across packs all panels at once, going along rows of the operand, which cross
// them.
func (p *packing) across(w *worker, dst []float32, first int) {
	size := p.width * p.depth
	count := min(len(dst)/p.depth, p.limit-first)
	for k := range p.depth {
		row := load[float32](w, slotWiden, p.v, (p.from+k)*p.stride+first, count)
		for at := k * p.width; len(row) > 0; at += size {
			row = row[copy(dst[at:at+p.width], row):]
		}
	}
}
