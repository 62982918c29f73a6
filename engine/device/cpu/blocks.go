package cpu

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// columnsAtOnce is blockN, or less if C must be held in scratch and is tall.
func columnsAtOnce(g *product, kernel simd.Product) int {
	n := blockN
	if g.held() {
		n = min(n, max(kernel.Cols, maxHeld/g.m/kernel.Cols*kernel.Cols))
	}
	return min(n, up(g.n, kernel.Cols))
}

func up(n, step int) int { return (n + step - 1) / step * step }

// layersAtOnce is how many blocks of K are packed at a time: more than one of a small
// product, whose workers then wait for each other less often.
func layersAtOnce(g *product, kernel simd.Product) int {
	words := max(1, min(blockK, kernel.Words(g.k)))
	fit := maxPacked / words / (up(min(blockM, g.m), kernel.Rows) + columnsAtOnce(g, kernel))
	return max(1, min(fit, (kernel.Words(g.k)+words-1)/words))
}

// sizes returns the elements of scratch that a product needs.
func sizes(g *product, kernel simd.Product) (a, b, held int) {
	cols := columnsAtOnce(g, kernel)
	words := min(blockK, kernel.Words(g.k)) * layersAtOnce(g, kernel)
	if g.held() {
		held = g.m * cols
	}
	return up(min(blockM, g.m), kernel.Rows) * words, cols * words, held
}

// multiply computes g on all workers.
func (b *Backend) multiply(g product) {
	w := b.pool.workers[0]
	multiply(w, g, b.kernel(&g), false, func(blk *block, parts int) {
		b.jobs.packB = packJob{blk}
		b.pool.run(&b.jobs.packB, parts)
	}, func(blk *block, tasks int) {
		b.jobs.tiles = tilesJob{blk}
		b.pool.run(&b.jobs.tiles, tasks)
	})
}

// packRun is the number of panels that one part packs.
const packRun = 8

type packJob struct{ b *block }

func (j *packJob) run(w *worker, part int) { j.b.pack(w, part) }

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
	multiply(w, g, kernel, true, func(blk *block, parts int) {
		for i := range parts {
			blk.pack(w, i)
		}
	}, func(blk *block, tasks int) {
		for i := range tasks {
			blk.task(w, i)
		}
	})
}

// multiply goes through the blocks of g. It calls pack for a number of parts and
// compute for a number of tasks, in any order.
func multiply(w *worker, g product, kernel simd.Product, alone bool, pack, compute func(blk *block, n int)) {
	sizeA, sizeB, sizeHeld := sizes(&g, kernel)
	blk := &w.block
	*blk = block{
		g: g, kernel: kernel, packedA: scratch[float32](w, slotPackA, sizeA),
		packedB: scratch[float32](w, slotPackB, sizeB), held: scratch[float32](w, slotHeld, sizeHeld), alone: alone,
	}
	step, layers, deep := columnsAtOnce(&g, kernel), layersAtOnce(&g, kernel), blockK*kernel.InWord
	for blk.col = 0; blk.col < g.n; blk.col += step {
		blk.cols = min(step, g.n-blk.col)
		blk.heldStride = blk.cols
		for blk.from = 0; blk.from < g.k || blk.from == 0; blk.from += layers * deep {
			blk.layers = max(1, min(layers, (g.k-blk.from+deep-1)/deep))
			for blk.row = 0; blk.row < g.m; blk.row += blockM {
				blk.rows = min(blockM, g.m-blk.row)
				if g.k > 0 {
					partsA, partsB := blk.packs()
					pack(blk, (partsA+partsB)*blk.layers)
				}
				compute(blk, blk.tasks())
			}
		}
	}
}
