package cpu

import (
	"memtop/engine/device"
	"memtop/engine/device/cpu/simd"
)

// block is the part of a product that is packed at one time: rows from row on,
// columns from col on, and depth steps of K from from on.
type block struct {
	g                 product
	kernel            simd.Product
	row, rows         int
	col, cols         int
	from, depth       int
	words             int // of a row of a panel: depth, or half of it where numbers come in pairs
	packedA, packedB  []float32
	held              []float32 // the columns of C until they are complete, where C does not keep them
	heldStride        int
	tall, flat        int // rows and columns of a task
	tallest, flattest int // tasks in each direction
}

// columnsAtOnce is blockN, less where C has to be held in scratch and is tall.
func columnsAtOnce(g *product, kernel simd.Product) int {
	n := blockN
	if g.held() {
		n = min(n, max(kernel.Cols, maxHeld/g.m/kernel.Cols*kernel.Cols))
	}
	return min(n, up(g.n, kernel.Cols))
}

func up(n, step int) int { return (n + step - 1) / step * step }

// sizes returns the elements of scratch that a product needs.
func sizes(g *product, kernel simd.Product) (a, b, held int) {
	cols := columnsAtOnce(g, kernel)
	words := min(blockK, kernel.Words(g.k))
	if g.held() {
		held = g.m * cols
	}
	return up(min(blockM, g.m), kernel.Rows) * words, cols * words, held
}

// multiply computes g on all workers.
func (b *Backend) multiply(g product) {
	w := b.pool.workers[0]
	multiply(w, g, b.kernel(&g), func(blk *block, panels int) {
		b.jobs.packB = packJob{blk}
		b.pool.run(&b.jobs.packB, (panels+packRun-1)/packRun)
	}, func(blk *block, tasks int) {
		b.jobs.tiles = tilesJob{blk}
		b.pool.run(&b.jobs.tiles, tasks)
	})
}

// packRun is the number of panels that one part packs.
const packRun = 8

type packJob struct{ b *block }

func (j *packJob) run(w *worker, part int) {
	j.b.pack(w, part*packRun, packRun)
}

type tilesJob struct{ b *block }

func (j *tilesJob) run(w *worker, part int) { j.b.task(w, part) }

// matricesJob computes one product of a batch per part, on one worker each.
type matricesJob struct {
	g      product
	m      device.MatMul
	kernel simd.Product
}

func (j *matricesJob) run(w *worker, part int) {
	multiplyAlone(w, j.g.batch(j.m, part), j.kernel)
}

// multiplyAlone computes g on one worker, with the same result.
func multiplyAlone(w *worker, g product, kernel simd.Product) {
	multiply(w, g, kernel, func(blk *block, panels int) {
		blk.pack(w, 0, panels)
	}, func(blk *block, tasks int) {
		for i := range tasks {
			blk.task(w, i)
		}
	})
}

// multiply goes through the blocks of g. pack does a number of panels and
// compute a number of tasks, in any order.
func multiply(w *worker, g product, kernel simd.Product, pack, compute func(blk *block, n int)) {
	sizeA, sizeB, sizeHeld := sizes(&g, kernel)
	blk := &w.block
	*blk = block{
		g: g, kernel: kernel, packedA: scratch[float32](w, slotPackA, sizeA),
		packedB: scratch[float32](w, slotPackB, sizeB), held: scratch[float32](w, slotHeld, sizeHeld),
	}
	step := columnsAtOnce(&g, kernel)
	for blk.col = 0; blk.col < g.n; blk.col += step {
		blk.cols = min(step, g.n-blk.col)
		blk.heldStride = blk.cols
		deep := blockK * kernel.InWord
		for blk.from = 0; blk.from < g.k || blk.from == 0; blk.from += deep {
			blk.depth = min(deep, g.k-blk.from)
			blk.words = kernel.Words(blk.depth)
			for blk.row = 0; blk.row < g.m; blk.row += blockM {
				blk.rows = min(blockM, g.m-blk.row)
				panelsA, panelsB := blk.panels()
				pack(blk, panelsA+panelsB)
				compute(blk, blk.tasks())
			}
		}
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

// pack does up to n of the panels from number i on, of which A's come first.
func (b *block) pack(w *worker, i, n int) {
	if b.depth == 0 {
		return
	}
	panelsA, panelsB := b.panels()
	if i < panelsA {
		some := min(n, panelsA-i)
		b.packA(w, i, some)
		i, n = i+some, n-some
	}
	if n = min(n, panelsA+panelsB-i); n > 0 {
		b.packB(w, i-panelsA, n)
	}
}

// tasks cuts the block into tasks of nearly equal size and returns their
// number.
func (b *block) tasks() int {
	b.tallest = (b.rows + taskM - 1) / taskM
	b.tall = up((b.rows+b.tallest-1)/b.tallest, b.kernel.Rows)
	b.flattest = (b.cols + taskN - 1) / taskN
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
	for ii := 0; ii < rows; ii += b.kernel.Rows {
		for jj := 0; jj < cols; jj += b.kernel.Cols {
			b.tile(w, c[ii*stride+jj:], stride, i+ii, j+jj, min(b.kernel.Rows, rows-ii), min(b.kernel.Cols, cols-jj))
		}
	}
	if b.from+b.depth == b.g.k {
		b.g.finish(w, c, stride, b.row+i, rows, b.col+j, cols)
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
func (b *block) tile(w *worker, c []float32, stride, i, j, rows, cols int) {
	k := b.kernel
	add := b.from > 0 || b.g.beta != 0
	if b.depth == 0 {
		zeroTile(c, stride, rows, cols, add)
		return
	}
	pa, pb := &b.packedA[i*b.words], &b.packedB[j*b.words]
	if rows == k.Rows && cols == k.Cols {
		k.Run(b.words, pa, pb, &c[0], stride, add)
		return
	}
	edge := scratch[float32](w, slotTile, k.Rows*k.Cols)
	k.Run(b.words, pa, pb, &edge[0], k.Cols, false)
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
