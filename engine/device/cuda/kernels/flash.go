package kernels

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
)

// flashThreads is the block size of flash's kernels for tensor cores.
const flashThreads = 128

// flashShared is the most shared memory of a block of flash's gradients. Two
// blocks fit into a multiprocessor of compute capability 8.0 or 9.0, and one
// block into any other.
const flashShared = 80 << 10

// mostShared returns the most dynamic shared memory of a launch of a kernel.
func mostShared(k Kernel) uint32 {
	if k >= FlashBackwardBfloat64 && k <= FlashBackwardHalf128 {
		return flashShared
	}
	return MaxShared
}

// flashShape holds the sizes of those kernels for heads of up to 64 elements, or
// up to 128.
type flashShape struct {
	rows           int    // queries of a block
	keys, queries  int    // of a block of the gradients, and of a tile that it takes at a time
	backwardShared uint32 // of a block of the gradients
}

func (x *attention) shape() flashShape {
	if x.Dim > 64 {
		return flashShape{rows: 64, keys: 64, queries: 32, backwardShared: 68 << 10}
	}
	return flashShape{rows: 128, keys: 128, queries: 64, backwardShared: 80 << 10}
}

// onTensorCores reports whether flash runs on the tensor cores: operands of one
// 16-bit type, heads of up to 128 elements, and rows that begin at multiples of 16
// bytes. others are the operands of the backward operation.
func (x *attention) onTensorCores(others ...device.Heads) bool {
	kind := x.Q.DType
	fits := (kind == device.BFloat16 || kind == device.Float16) && x.Dim <= 128 && x.Dim%8 == 0
	for _, list := range [...][]device.Heads{{x.Q, x.K, x.V, x.O}, others} {
		for _, h := range list {
			fits = fits && h.DType == kind && h.Addr%16 == 0 && (h.BatchStride|h.HeadStride|h.RowStride)%8 == 0
		}
	}
	return fits
}

// variant returns the kernel for the type and size of the heads, of four that
// begin with first.
func (x *attention) variant(first Kernel) Kernel {
	if x.Dim > 64 {
		first++
	}
	if x.Q.DType == device.Float16 {
		first += 2
	}
	return first
}

func (c *Compute) flash(x *attention) {
	a := x.args()
	if x.onTensorCores() {
		launch(c, x.variant(FlashBfloat64), line(x.AllHeads*ceil(x.Queries, x.shape().rows)), flashThreads, MaxShared, a)
		return
	}
	tile, shared := x.flashTile(3, 1)
	a.Tile = int32(tile)
	launch(c, Flash, line(x.AllHeads*ceil(x.Queries, tile)), blockThreads, shared, a)
}

// flashTile returns the largest tile of flash on ordinary cores, at most 32, for
// which rows tiles of the heads' rows, squares tiles of scores and one number per
// row fit into shared memory.
func (x *attention) flashTile(rows, squares int) (tile int, shared uint32) {
	for tile = 32; tile > 0; tile /= 2 {
		bytes := int64(rows*tile*(x.Dim+1)+squares*tile*tile+tile) * x.Compute.Size()
		if bytes <= MaxShared {
			return tile, uint32(bytes)
		}
	}
	panic(fmt.Sprintf("kernels: flash: heads of %d elements are too large for shared memory", x.Dim))
}

// flashBackward computes all gradients in one launch on tensor cores. On ordinary
// cores it computes dQ in blocks of queries, and dK and dV in blocks of keys.
func (c *Compute) flashBackward(x *attention, g *device.AttentionBackwardPlan) {
	work := device.ArrayOf(g.Work, x.Compute, x.AllHeads*x.GradientElements())
	queries := x.AllHeads * x.Queries
	a := x.args()
	a.DO, a.DQ, a.DK, a.DV = g.DO, g.DQ, g.DK, g.DV
	// The sums are read four elements at a time, so they come first.
	a.Sums, a.Delta = work.Slice(0, work.Len-queries), work.Slice(work.Len-queries, queries)
	if x.onTensorCores(g.DO, g.DQ, g.DK, g.DV) {
		shape := x.shape()
		a.Turns = c.scratchArray(device.Int32, 0, 1+x.AllHeads*ceil(x.Queries, shape.queries))
		c.launchDelta(x, a)
		launch(c, x.variant(FlashBackwardBfloat64), line(x.AllHeads*ceil(x.Keys, shape.keys)), flashThreads, shape.backwardShared, a)
		return
	}
	c.launchDelta(x, a)
	tile, shared := x.flashTile(6, 2)
	a.Tile = int32(tile)
	launch(c, FlashQueries, line(x.AllHeads*ceil(x.Queries, tile)), blockThreads, shared, a)
	launch(c, FlashKeys, line(x.AllHeads*ceil(x.Keys, tile)), blockThreads, shared, a)
}
