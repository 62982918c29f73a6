package cpu

import (
	"memtop/engine/device"
	"memtop/engine/device/cpu/simd"
)

// packPanel packs width rows of A, or columns of B, starting with first, for k
// from from to from+depth: dst[p·width+i]. Those beyond limit are zero.
// alongK says that the operand is stored with k contiguous.
func packPanel(w *worker, dst []float32, v view, stride int, alongK bool, first, limit, width, from, depth int) {
	count := min(width, limit-first)
	if count < width {
		clear(dst[:width*depth])
	}
	switch {
	case alongK && v.kind == device.Float32:
		simd.Interleave(dst, slice[float32](v, first*stride+from, (count-1)*stride+depth), count, depth, width, stride)
	case alongK:
		rows := scratch[float32](w, slotWiden, count*depth)
		for i := range count {
			widen(rows[i*depth:(i+1)*depth], v, (first+i)*stride+from)
		}
		simd.Interleave(dst, rows, count, depth, width, depth)
	case v.kind == device.Float32:
		src := slice[float32](v, from*stride+first, (depth-1)*stride+count)
		for p := range depth {
			copy(dst[p*width:p*width+count], src[p*stride:])
		}
	default:
		for p := range depth {
			widen(dst[p*width:p*width+count], v, (from+p)*stride+first)
		}
	}
}

// packA packs panel number i of the rows from row on.
func (b *block) packA(w *worker, i int) {
	g, width := &b.g, b.kernel.Rows
	dst := b.packedA[i*width*b.depth : (i+1)*width*b.depth]
	packPanel(w, dst, g.a, g.lda, !g.transA, b.row+i*width, g.m, width, b.from, b.depth)
	if alpha := float32(g.alpha); alpha != 1 {
		for k := range dst {
			dst[k] *= alpha
		}
	}
}

// packB packs panel number i of the columns from col on.
func (b *block) packB(w *worker, i int) {
	g, width := &b.g, b.kernel.Cols
	dst := b.packedB[i*width*b.depth : (i+1)*width*b.depth]
	packPanel(w, dst, g.b, g.ldb, g.transB, b.col+i*width, g.n, width, b.from, b.depth)
}
