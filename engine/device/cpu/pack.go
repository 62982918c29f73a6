package cpu

import (
	"unsafe"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// packing says how an operand becomes panels: width rows of A, or columns of B,
// side by side, dst[p·width+i] for word p of depth numbers from from on. What is
// beyond limit is zero.
type packing struct {
	v           view
	stride      int
	alongK      bool // the operand is stored with k contiguous
	limit       int
	width       int
	from, depth int
	words       int
	pairs       bool  // numbers come in pairs
	made        lines // nil for an operand that is stored
}

// lines is an operand that is not stored, and made row by row while it is packed.
type lines interface {
	// line sets dst to the numbers of a row from one on. It may use the worker's
	// slotA.
	line(w *worker, dst []float32, row, from int)
}

func (b *block) packing(l *layer, v view, made lines, stride int, alongK bool, limit, width int) packing {
	return packing{v, stride, alongK, limit, width, l.from, l.depth, l.words, b.kernel.InWord == 2, made}
}

// packA packs n panels of a layer from number i on, of the rows from row on.
func (b *block) packA(w *worker, l *layer, i, n int) {
	g, width := &b.g, b.kernel.Rows
	p := b.packing(l, g.a, g.madeA, g.lda, !g.transA, g.m, width)
	dst := l.a[i*width*l.words : (i+n)*width*l.words]
	p.panels(w, dst, b.row+i*width)
	if alpha := float32(g.alpha); alpha != 1 {
		multiplyRow(dst, dst, alpha)
	}
}

// packB packs n panels of a layer from number i on, of the columns from col on.
func (b *block) packB(w *worker, l *layer, i, n int) {
	g, width := &b.g, b.kernel.Cols
	p := b.packing(l, g.b, g.madeB, g.ldb, g.transB, g.n, width)
	p.panels(w, l.b[i*width*l.words:(i+n)*width*l.words], b.col+i*width)
}

// panels fills dst with whole panels, of which the first begins at first.
func (p *packing) panels(w *worker, dst []float32, first int) {
	size := p.width * p.words
	if beyond := first + len(dst)/p.words - p.limit; beyond > 0 {
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
	at := func(i int) int { return (first+i)*p.stride + p.from }
	if p.v.kind == device.Float32 && p.made == nil {
		rows := slice[float32](p.v, at(0), (count-1)*p.stride+p.depth)
		simd.Interleave(dst, rows, count, p.depth, p.width, p.stride)
		return
	}
	rows := scratch[float32](w, slotWiden, count*p.words)
	for i := range count {
		switch row := rows[i*p.words : (i+1)*p.words]; {
		case p.made != nil:
			p.made.line(w, row, first+i, p.from)
		case p.pairs:
			pairsOf(row, slice[uint16](p.v, at(i), p.depth))
		default:
			widen(row, p.v, at(i))
		}
	}
	simd.Interleave(dst, rows, count, p.words, p.width, p.words)
}

// pairsOf sets words to the halves of row, each with the next one; a last one that
// is alone gets a zero.
func pairsOf(words []float32, row []uint16) {
	words[len(words)-1] = 0
	copy(unsafe.Slice((*uint16)(unsafe.Pointer(&words[0])), len(row)), row)
}

// across packs all panels at once, going along rows of the operand, which cross
// them.
func (p *packing) across(w *worker, dst []float32, first int) {
	size := p.width * p.words
	count := min(len(dst)/p.words, p.limit-first)
	for k := range p.words {
		simd.Spread(dst[k*p.width:], p.word(w, k, first, count), p.width, size)
	}
}

// word returns word k of count rows or columns, of an operand stored across K.
func (p *packing) word(w *worker, k, first, count int) []float32 {
	if p.made != nil {
		row := scratch[float32](w, slotWiden, count)
		p.made.line(w, row, p.from+k, first)
		return row
	}
	if !p.pairs {
		return load[float32](w, slotWiden, p.v, (p.from+k)*p.stride+first, count)
	}
	at := (p.from+2*k)*p.stride + first
	low := slice[uint16](p.v, at, count)
	words := scratch[float32](w, slotWiden, count)
	if 2*k+1 < p.depth {
		simd.Pair(words, low, slice[uint16](p.v, at+p.stride, count))
	} else {
		nothing := scratch[uint16](w, slotTile, count)
		clear(nothing)
		simd.Pair(words, low, nothing)
	}
	return words
}
