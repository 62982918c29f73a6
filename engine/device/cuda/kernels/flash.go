package kernels

import (
	"fmt"

	"memtop/engine/device"
)

// The tensor cores' kernels of flash: the rows of a block, its threads, and its
// shared memory, which is the same for all except the forward ones with small
// heads.
const (
	flashRows    = 64
	flashThreads = 128
)

// onTensorCores reports whether flash runs on the tensor cores: operands of one
// 16-bit type and heads of up to 128 elements. other is the type of the backward
// operation's other inputs, or that of Q.
func (x *attention) onTensorCores(other device.DType) bool {
	kind := x.Q.DType
	return (kind == device.BFloat16 || kind == device.Float16) && x.K.DType == kind && x.V.DType == kind && other == kind && x.Dim <= 128
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
	if x.onTensorCores(x.Q.DType) {
		shared := uint32(40 << 10)
		if x.Dim > 64 {
			shared = MaxShared
		}
		launch(c, x.variant(FlashBfloat64), line(x.AllHeads*ceil(x.Queries, flashRows)), flashThreads, shared, a)
		return
	}
	tile, shared := x.flashTile(3, 1)
	a.Tile = int32(tile)
	launch(c, pick(x.Wide(), FlashWide, Flash), line(x.AllHeads*ceil(x.Queries, tile)), blockThreads, shared, a)
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

// flashBackward computes dQ in blocks of queries and dK and dV in blocks of
// keys, so that the order of sums is fixed.
func (c *Compute) flashBackward(x *attention, g *device.AttentionBackwardPlan) {
	delta := device.ArrayOf(g.Work, x.Compute, x.AllHeads*x.Queries)
	c.delta(x, g, delta)
	a := x.args()
	a.DO, a.DQ, a.DK, a.DV, a.Delta = g.DO, g.DQ, g.DK, g.DV, delta
	if x.onTensorCores(g.DO.DType) {
		launch(c, x.variant(FlashQueriesBfloat64), line(x.AllHeads*ceil(x.Queries, flashRows)), flashThreads, MaxShared, a)
		launch(c, x.variant(FlashKeysBfloat64), line(x.AllHeads*ceil(x.Keys, flashRows)), flashThreads, MaxShared, a)
		return
	}
	tile, shared := x.flashTile(6, 2)
	a.Tile = int32(tile)
	launch(c, pick(x.Wide(), FlashQueriesWide, FlashQueries), line(x.AllHeads*ceil(x.Queries, tile)), blockThreads, shared, a)
	launch(c, pick(x.Wide(), FlashKeysWide, FlashKeys), line(x.AllHeads*ceil(x.Keys, tile)), blockThreads, shared, a)
}
