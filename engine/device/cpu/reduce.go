package cpu

import (
	"fmt"
	"math"
	"slices"

	"github.com/memtop/memtop/engine/device"
)

// # How Reduce is cut
//
// A block is some columns (of inner) of one outer index over some rows (of n), and
// leaves one partial result per column; a part is the same block of several outer
// indexes. A second pass puts the blocks of rows together in order. All sizes follow
// from the operation's.
const (
	reduceCols  = 128
	reduceBlock = 64 << 10 // elements of a block at most
	reducePart  = 16 << 10 // of a part of several blocks, about
)

type reduceJob struct {
	kind            device.Reduction
	dst, src        view
	outer, n, inner int
	cols, rows      int // of a block
	colBlocks       int
	rowBlocks       int
	outers          int       // outer indexes of a part
	partials        []float64 // [rowBlocks][outer·inner]
	combine         bool
}

// Reduce implements device.Reductions.
func (b *Backend) Reduce(kind device.Reduction, dst, src device.Array, outer, n, inner int) {
	device.CheckFloat("reduce", dst.DType, src.DType)
	kind.Check("reduce")
	if n <= 0 {
		panic(fmt.Sprintf("cpu: reduce: groups of %d elements", n))
	}
	j := &b.jobs.reduce
	*j = reduceJob{
		kind: kind, dst: b.view("reduce", "dst", dst, outer*inner), src: b.view("reduce", "src", src, outer*n*inner),
		outer: outer, n: n, inner: inner, partials: j.partials,
	}
	if outer*inner == 0 {
		return
	}
	j.cols = min(inner, reduceCols)
	j.rows = max(1, reduceBlock/j.cols)
	j.colBlocks = (inner + j.cols - 1) / j.cols
	j.rowBlocks = (n + j.rows - 1) / j.rows
	need := j.rowBlocks * outer * inner
	j.partials = slices.Grow(j.partials[:0], need)[:need]
	j.outers = max(1, reducePart/(j.cols*min(j.rows, n)))
	b.pool.run(j, (outer+j.outers-1)/j.outers*j.colBlocks*j.rowBlocks)
	j.combine = true
	b.pool.run(j, parts(outer*inner))
}

func (j *reduceJob) run(w *worker, part int) {
	if j.combine {
		runs(part, j.outer*j.inner, func(i, n int) { j.join(w, i, n) })
		return
	}
	rowBlock, part := part%j.rowBlocks, part/j.rowBlocks
	col, part := part%j.colBlocks*j.cols, part/j.colBlocks
	cols := min(j.cols, j.inner-col)
	from := rowBlock * j.rows
	to := min(j.n, from+j.rows)
	for o := part * j.outers; o < min(j.outer, (part+1)*j.outers); o++ {
		at := (rowBlock*j.outer+o)*j.inner + col
		partial := j.partials[at : at+cols]
		if j.src.kind == device.Float64 {
			reduceBlockOf[float64](w, j, partial, o, col, from, to)
		} else {
			reduceBlockOf[float32](w, j, partial, o, col, from, to)
		}
	}
}

func reduceBlockOf[T float](w *worker, j *reduceJob, partial []float64, o, col, from, to int) {
	if j.inner == 1 {
		x := load[T](w, slotA, j.src, o*j.n+from, to-from)
		if j.kind == device.Max {
			partial[0] = float64(maximum(x))
		} else {
			partial[0] = sum(x)
		}
		return
	}
	for i := range partial {
		partial[i] = 0
		if j.kind == device.Max {
			partial[i] = math.Inf(-1)
		}
	}
	for row := from; row < to; row++ {
		x := load[T](w, slotA, j.src, (o*j.n+row)*j.inner+col, len(partial))
		if j.kind == device.Max {
			for i, v := range x {
				partial[i] = math.Max(partial[i], float64(v))
			}
			continue
		}
		accumulate(partial, x)
	}
}

// join puts the blocks of rows of n results from i on together.
func (j *reduceJob) join(w *worker, i, n int) {
	results := scratch[float64](w, slotA, n)
	total := j.outer * j.inner
	for k := range results {
		r := j.partials[i+k]
		for block := 1; block < j.rowBlocks; block++ {
			p := j.partials[block*total+i+k]
			if j.kind == device.Max {
				r = math.Max(r, p)
			} else {
				r += p
			}
		}
		if j.kind == device.Mean {
			r /= float64(j.n)
		}
		results[k] = r
	}
	narrow(j.dst, i, results)
}

// squaresJob adds up the squares of each part of a list.
type squaresJob struct {
	list []view
	shares
	partials []float64
}

// Norm2 implements device.Reductions.
func (b *Backend) Norm2(dst device.Array, list []device.Array) {
	device.CheckFloat("norm2", dst.DType)
	b.view("norm2", "dst", dst, 1).setNumber(0, math.Sqrt(b.addSquares("norm2", 0, list)))
}

// AddSquares implements device.Reductions.
func (b *Backend) AddSquares(sum device.Array, list []device.Array) {
	v := b.view("add squares", "sum", sum, 1)
	v.setNumber(0, b.addSquares("add squares", v.number(0), list))
}

// Root implements device.Reductions.
func (b *Backend) Root(dst, sum device.Array) {
	b.view("root", "dst", dst, 1).setNumber(0, math.Sqrt(b.view("root", "sum", sum, 1).number(0)))
}

// addSquares adds part after part, in the order of the list.
func (b *Backend) addSquares(name string, sum float64, list []device.Array) float64 {
	j := &b.jobs.squares
	j.list = b.listed(name, j.list, &j.shares, list)
	j.partials = slices.Grow(j.partials[:0], j.total())[:j.total()]
	b.pool.run(j, j.total())
	for _, p := range j.partials {
		sum += p
	}
	return sum
}

// listed resolves a list of floating-point operands into views, which it returns,
// and shares them out.
func (b *Backend) listed(name string, views []view, s *shares, list []device.Array) []view {
	s.begin()
	views = views[:0]
	for _, a := range list {
		device.CheckFloat(name, a.DType)
		views = append(views, b.resolve(a))
		s.add(parts(a.Len))
	}
	return views
}

func (j *squaresJob) run(w *worker, part int) {
	i, own := j.find(part)
	x, total := j.list[i], 0.0
	runs(own, x.n, func(i, n int) {
		if x.kind == device.Float64 {
			y := load[float64](w, slotA, x, i, n)
			total += dot(y, y)
			return
		}
		y := load[float32](w, slotA, x, i, n)
		total += dot(y, y)
	})
	j.partials[part] = total
}
