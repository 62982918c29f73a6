package kernels

import "github.com/memtop/memtop/engine/device"

// The most arrays of one launch, and the elements of one block.
const (
	listItems = 160
	listPart  = 16384
)

type listItem struct {
	Addr        uint64
	Len         int64
	Type, Begin int32
}

type listArgs struct {
	Item      [listItems]listItem
	Count     int32
	By, Found device.Array
	Partials  uint64
}

type normRootArgs struct {
	Dst           device.Array
	Sum, Partials uint64
	Count         int64
}

// Norm2 implements device.Reductions.
func (c *Compute) Norm2(dst device.Array, list []device.Array) {
	checkTypes("norm2", dst.DType)
	device.CheckLen("norm2", "dst", dst, 1)
	blocks := c.each("norm2", NormSquares, list, listArgs{Partials: c.scratch.Addr})
	launch(c, NormRoot, line(1), blockThreads, 0, normRootArgs{Dst: dst, Partials: c.scratch.Addr, Count: int64(blocks)})
}

// AddSquares implements device.Reductions. The sum so far is the first of the
// parts.
func (c *Compute) AddSquares(sum device.Array, list []device.Array) {
	device.CheckLen("add squares", "sum", sum, 1)
	c.copyArray(c.scratchArray(device.Float64, 0, 1), sum)
	blocks := c.each("add squares", NormSquares, list, listArgs{Partials: c.scratch.Addr + 8})
	launch(c, NormRoot, line(1), blockThreads, 0, normRootArgs{Sum: sum.Addr, Partials: c.scratch.Addr, Count: int64(blocks) + 1})
}

// Root implements device.Reductions.
func (c *Compute) Root(dst, sum device.Array) {
	checkTypes("root", dst.DType)
	device.CheckLen("root", "dst", dst, 1)
	launch(c, NormRoot, line(1), blockThreads, 0, normRootArgs{Dst: dst, Partials: sum.Addr, Count: 1})
}

// Unscale implements device.Scaling.
func (c *Compute) Unscale(gradients []device.Array, scale, foundInf device.Array) {
	device.CheckScalar("unscale", "scale", scale)
	device.CheckScalar("unscale", "found inf", foundInf)
	c.each("unscale", Unscale, gradients, listArgs{By: scale, Found: foundInf})
}

// each launches k on all arrays of a list, as many as fit at a time, and returns
// the number of blocks. Partials advances with them.
func (c *Compute) each(operation string, k Kernel, list []device.Array, a listArgs) int {
	total, blocks := 0, 0
	for i, x := range list {
		checkTypes(operation, x.DType)
		if x.Len > 0 {
			a.Item[a.Count] = listItem{x.Addr, int64(x.Len), int32(x.DType), int32(blocks)}
			a.Count++
			blocks += ceil(x.Len, listPart)
		}
		if a.Count == listItems || i == len(list)-1 {
			launch(c, k, line(blocks), blockThreads, 0, a)
			a.Partials += uint64(8 * blocks)
			total += blocks
			a.Count, blocks = 0, 0
		}
	}
	return total
}

type updateScaleArgs struct {
	Scale, Tracker, Found     device.Array
	Growth, Backoff, Interval float64
}

// UpdateScale implements device.Scaling.
func (c *Compute) UpdateScale(scale, tracker, foundInf device.Array, growth, backoff float64, interval int) {
	device.CheckScalar("update scale", "scale", scale)
	device.CheckScalar("update scale", "tracker", tracker)
	device.CheckFlag("update scale", foundInf)
	launch(c, UpdateScale, line(1), 32, 0, updateScaleArgs{scale, tracker, foundInf, growth, backoff, float64(interval)})
}
