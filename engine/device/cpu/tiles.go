package cpu

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// block is the part of a product that is packed at one time: rows from row on,
// columns from col on, and some layers of K, a block each, from from on.
type block struct {
	g                 product
	kernel            simd.Product
	row, rows         int
	col, cols         int
	from, layers      int
	packedA, packedB  []float32 // layer after layer
	held              []float32 // the columns of C until they are complete, where C does not keep them
	heldStride        int
	alone             bool // one worker does all tasks
	tall, flat        int  // rows and columns of a task
	tallest, flattest int  // tasks in each direction
}

// layer is a block of K: so many numbers from one on, which are so many words of a
// row of a panel. Its panels of A and of B are packed.
type layer struct {
	from, depth, words int
	a, b               []float32
}

// layer returns the i-th layer.
func (b *block) layer(i int) layer {
	deep := blockK * b.kernel.InWord
	from := b.from + i*deep
	depth := min(deep, b.g.k-from)
	words := b.kernel.Words(depth)
	sizeA, sizeB := up(b.rows, b.kernel.Rows), up(b.cols, b.kernel.Cols)
	before := i * min(blockK, b.kernel.Words(b.g.k))
	return layer{
		from, depth, words,
		b.packedA[before*sizeA : before*sizeA+words*sizeA], b.packedB[before*sizeB : before*sizeB+words*sizeB],
	}
}

// panels returns the panels to pack: B's are there from the first rows on.
func (b *block) panels() (a, bs int) {
	a = (b.rows + b.kernel.Rows - 1) / b.kernel.Rows
	if b.row == 0 {
		bs = (b.cols + b.kernel.Cols - 1) / b.kernel.Cols
	}
	return a, bs
}

// packs is how many parts the packing of a layer has: some of A's panels or of B's
// each.
func (b *block) packs() (a, bs int) {
	panelsA, panelsB := b.panels()
	return (panelsA + packRun - 1) / packRun, (panelsB + packRun - 1) / packRun
}

// pack does a part.
func (b *block) pack(w *worker, part int) {
	partsA, partsB := b.packs()
	panelsA, panelsB := b.panels()
	l, i := b.layer(part/(partsA+partsB)), part%(partsA+partsB)
	if i < partsA {
		b.packA(w, &l, i*packRun, min(packRun, panelsA-i*packRun))
		return
	}
	i -= partsA
	b.packB(w, &l, i*packRun, min(packRun, panelsB-i*packRun))
}

// fewTasks is how many tasks there are at least where several workers share them, so
// that none waits long for the last.
const fewTasks = 8

// tasks cuts the block into tasks of nearly equal size and returns their
// number.
func (b *block) tasks() int {
	b.tallest, b.flattest = (b.rows+taskM-1)/taskM, (b.cols+taskN-1)/taskN
	if !b.alone {
		b.tallest = max(b.tallest, min((fewTasks+b.flattest-1)/b.flattest, (b.rows+b.kernel.Rows-1)/b.kernel.Rows))
		b.flattest = max(b.flattest, min((fewTasks+b.tallest-1)/b.tallest, (b.cols+b.kernel.Cols-1)/b.kernel.Cols))
	}
	b.tall = up((b.rows+b.tallest-1)/b.tallest, b.kernel.Rows)
	b.flat = up((b.cols+b.flattest-1)/b.flattest, b.kernel.Cols)
	return b.tallest * b.flattest
}

// task computes one task's tiles and, after the last of K, finishes them.
func (b *block) task(w *worker, task int) {
	i, j := task%b.tallest*b.tall, task/b.tallest*b.flat
	rows, cols := min(b.tall, b.rows-i), min(b.flat, b.cols-j)
	if rows <= 0 || cols <= 0 {
		return
	}
	c, stride := b.target(i, j, rows, cols)
	if b.from == 0 && b.g.beta != 0 {
		b.begin(c, stride, i, j, rows, cols)
	}
	for n := range b.layers {
		l := b.layer(n)
		for ii := 0; ii < rows; ii += b.kernel.Rows {
			for jj := 0; jj < cols; jj += b.kernel.Cols {
				b.tile(w, &l, c[ii*stride+jj:], stride, i+ii, j+jj, min(b.kernel.Rows, rows-ii), min(b.kernel.Cols, cols-jj))
			}
		}
		if l.from+l.depth == b.g.k {
			b.g.finish(w, c, stride, b.row+i, rows, b.col+j, cols)
		}
	}
}

// target returns where the sums of a task are kept, and its stride.
func (b *block) target(i, j, rows, cols int) ([]float32, int) {
	if b.g.held() {
		return b.held[(b.row+i)*b.heldStride+j:], b.heldStride
	}
	return slice[float32](b.g.c, (b.row+i)*b.g.ldc+b.col+j, (rows-1)*b.g.ldc+cols), b.g.ldc
}

// begin scales what C held by beta.
func (b *block) begin(c []float32, stride, i, j, rows, cols int) {
	beta := float32(b.g.beta)
	for r := range rows {
		x := c[r*stride : r*stride+cols]
		if b.g.c.kind != device.Float32 {
			widen(x, b.g.c, (b.row+i+r)*b.g.ldc+b.col+j)
		}
		if beta != 1 {
			for k := range x {
				x[k] *= beta
			}
		}
	}
}

// tile computes one tile. At the edges of C the kernel writes to scratch, of
// which the part inside is copied.
func (b *block) tile(w *worker, l *layer, c []float32, stride, i, j, rows, cols int) {
	k := &b.kernel
	add := l.from > 0 || b.g.beta != 0
	if l.depth == 0 {
		zeroTile(c, stride, rows, cols, add)
		return
	}
	pa, pb := &l.a[i*l.words], &l.b[j*l.words]
	if rows == k.Rows && cols == k.Cols {
		k.Run(l.words, pa, pb, &c[0], stride, add)
		return
	}
	edge := scratch[float32](w, slotTile, k.Rows*k.Cols)
	k.Run(l.words, pa, pb, &edge[0], k.Cols, false)
	for r := range rows {
		to, from := c[r*stride:r*stride+cols], edge[r*k.Cols:r*k.Cols+cols]
		if !add {
			copy(to, from)
			continue
		}
		for n, v := range from {
			to[n] += v
		}
	}
}

// zeroTile is the product when K is 0.
func zeroTile(c []float32, stride, rows, cols int, add bool) {
	for r := range rows {
		if !add {
			clear(c[r*stride : r*stride+cols])
		}
	}
}
