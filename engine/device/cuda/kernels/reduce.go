package kernels

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
)

type reduceArgs struct {
	Dst, Src                      device.Array
	Partials                      uint64
	Outer, N, Inner, Rows, Ranges int64
	Kind                          int32
}

// A block of Reduce joins about this many rows, or elements if they are
// contiguous.
const (
	reduceRows     = 256
	reduceElements = 16384
)

// Reduce implements device.Reductions.
func (c *Compute) Reduce(kind device.Reduction, dst, src device.Array, outer, n, inner int) {
	checkTypes("reduce", dst.DType, src.DType)
	kind.Check("reduce")
	if n <= 0 {
		panic(fmt.Sprintf("kernels: reduce: groups of %d elements", n))
	}
	device.CheckLen("reduce", "dst", dst, outer*inner)
	device.CheckLen("reduce", "src", src, outer*n*inner)
	total := outer * inner
	if total == 0 {
		return
	}
	rows := reduceElements
	if inner > 1 {
		rows = reduceRows
	}
	rows, ranges := c.ranges(n, rows, total)
	a := reduceArgs{
		Dst: dst, Src: src, Partials: c.scratch.Addr, Outer: int64(outer), N: int64(n), Inner: int64(inner),
		Rows: int64(rows), Ranges: int64(ranges), Kind: int32(kind),
	}
	k, blocks := ReduceRows, outer
	if inner > 1 {
		k, blocks = ReduceColumns, outer*ceil(inner, 32)
	}
	launch(c, k, [3]uint32{uint32(blocks), uint32(ranges), 1}, blockThreads, 0, a)
	c.joinRanges(a)
}

// ranges cuts n rows into ranges of at least the given number of rows. It makes
// as many ranges as a grid allows and as fit into scratch; each has total results
// in float64.
func (c *Compute) ranges(n, rows, total int) (perRange, ranges int) {
	most := max(1, min(ScratchBytes/8/total, maxGridY))
	perRange = max(rows, ceil(n, most))
	return perRange, ceil(n, perRange)
}

const maxGridY = 65535

// joinRanges joins the ranges' results, if there is more than one range.
func (c *Compute) joinRanges(a reduceArgs) {
	if a.Ranges > 1 {
		launch(c, ReduceRanges, line(ceil(int(a.Outer*a.Inner), blockThreads)), blockThreads, 0, a)
	}
}
