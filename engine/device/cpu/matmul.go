package cpu

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// # How a product is cut
//
// For every block of blockN columns and blockK of K, several of the latter at a time
// where they are small, the operands are packed into panels, in which a micro-kernel
// finds what it needs one after the other, padded with zeros to whole tiles: A in
// panels of Rows rows, B in panels of Cols columns. Then tiles of C are computed, and added up in C from one block
// of K to the next. A C that is not float32 is kept in scratch until it is
// complete. Every element thus sums its products in one order, that of K, in
// blocks of blockK: the cut of the rest, and the number of threads, do not
// matter. Bias, activation and conversion are done to a block of C right after
// its last product, while it is in the cache.
//
// Where the processor multiplies pairs of bfloat16 numbers, and both operands are
// such, panels hold them as they are: a word of 32 bits is two numbers that follow
// each other along K, and a block has twice the depth. Such a product treats
// numbers below 2^-126 as zero, and rounds once for a pair.
const (
	blockK = 256 // words
	blockN = 4096
	blockM = 3072 // rows packed at a time
	// A task is up to taskM × taskN of C: its A and B stay in the second cache,
	// and a panel of A in the first while it meets the panels of B.
	taskM = 192
	taskN = 256
	// maxPacked bounds the scratch for several blocks of K, in words.
	maxPacked = 1 << 20
	// maxHeld bounds the scratch for a C that is not float32, in elements.
	maxHeld = 4 << 20
)

// product is one product of matrices, resolved.
type product struct {
	c, a, b, bias, pre view
	madeA, madeB       lines   // nil for operands that are stored
	places             *placed // where C is stored by places; nil for a matrix
	m, n, k            int
	lda, ldb, ldc      int
	transA, transB     bool
	alpha, beta        float64
	activate, slope    bool
	activation         device.UnaryOp
}

// MatMul implements device.MatMuls.
func (b *Backend) MatMul(p device.MatMulPlan) {
	b.sumRows(&p)
	if p.M == 0 || p.N == 0 || p.Batch == 0 {
		return
	}
	g := b.resolveMatMul(&p.MatMul)
	switch {
	case p.Wide():
		b.jobs.wide = wideJob{g: g, m: p.MatMul}
		b.pool.run(&b.jobs.wide, p.Batch*b.jobs.wide.rowParts())
	case p.Batch >= len(b.pool.workers) && p.Batch > 1:
		b.jobs.matrices = matricesJob{g: g, m: p.MatMul, kernel: b.kernel(&g)}
		b.pool.run(&b.jobs.matrices, p.Batch)
	default:
		for i := range p.Batch {
			b.multiply(g.batch(p.MatMul, i))
		}
	}
}

// sumRows sums the rows of op(A), whose columns they are in memory.
func (b *Backend) sumRows(p *device.MatMulPlan) {
	switch {
	case p.SumA.Absent():
	case p.K == 0:
		b.Fill(p.SumA, 0)
	default:
		b.Reduce(device.Sum, p.SumA, p.A, 1, p.K, p.M)
	}
}

func (b *Backend) resolveMatMul(m *device.MatMul) product {
	return product{
		a: b.resolve(m.A), b: b.resolve(m.B), c: b.resolve(m.C), bias: b.resolve(m.Bias), pre: b.resolve(m.Pre),
		m: m.M, n: m.N, k: m.K, lda: m.LDA, ldb: m.LDB, ldc: m.LDC,
		transA: m.TransA, transB: m.TransB, alpha: m.Alpha, beta: m.Beta,
		activate: m.Activate, slope: m.Slope, activation: m.Activation,
	}
}

// kernel returns what multiplies the tiles of g.
func (b *Backend) kernel(g *product) simd.Product {
	if b.pairs.Run != nil && g.a.kind == device.BFloat16 && g.b.kind == device.BFloat16 && g.alpha == 1 {
		return b.pairs
	}
	return b.product
}

// batch returns the i-th product of a batch.
func (g product) batch(m device.MatMul, i int) product {
	if i == 0 {
		return g
	}
	step := func(v *view, elements int) {
		if !v.absent() {
			*v = v.at(i * elements)
		}
	}
	step(&g.a, m.StrideA)
	step(&g.b, m.StrideB)
	step(&g.c, m.StrideC)
	step(&g.pre, m.StrideC)
	return g
}

// held reports whether C is kept in scratch until it is complete.
func (g *product) held() bool { return g.c.kind != device.Float32 || g.places != nil }

// finish adds the bias, applies the activation and stores rows from i on of the
// columns from j to j+n, which are complete in held.
func (g *product) finish(w *worker, held []float32, stride, i, rows, j, n int) {
	if g.places != nil {
		g.places.store(w, g, held, stride, i, rows, j, n)
		return
	}
	inPlace := !g.held()
	if inPlace && g.bias.absent() && !g.activate && g.pre.absent() {
		return
	}
	var bias []float32
	if !g.bias.absent() {
		bias = load[float32](w, slotWiden, g.bias, j, n)
	}
	for r := range rows {
		x := held[r*stride : r*stride+n]
		if bias != nil {
			combine(device.Add, x, x, bias)
		}
		at := (i+r)*g.ldc + j
		activated(w, g, at, x)
		if !inPlace {
			narrow(g.c, at, x)
		}
	}
}

// round stores x in v from element at on, and makes it what v holds.
func round[T float](v view, at int, x []T) {
	narrow(v, at, x)
	if !stored[T](v) {
		widen(x, v, at)
	}
}

// activated applies the activation, or its slope, to the part x of a row of C, which
// begins at element at.
func activated[T float](w *worker, g *product, at int, x []T) {
	if g.slope {
		round(g.c, at, x)
		derive(g.activation, x, load[T](w, slotA, g.pre, at, len(x)), x)
		return
	}
	if !g.pre.absent() {
		round(g.pre, at, x)
	}
	if g.activate {
		apply(g.activation, x, x)
	}
}
