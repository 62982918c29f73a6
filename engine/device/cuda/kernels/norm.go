package kernels

import "github.com/memtop/memtop/engine/device"

type normArgs struct {
	X, Y, Weight, Bias, Mean, RStd, Residual, Sum, DY, DX, Add, Low device.Array
	Shares                                                          uint64
	Rows, Cols, Range, ResidualRows                                 int64
	Eps                                                             float64
	RMS                                                             int32
}

type normParamsArgs struct {
	X, Mean, RStd, DY, DW, DB device.Array
	Shares                    uint64
	Rows, Cols, Range, Ranges int64
	RMS                       int32
}

// Normalize implements device.Normalizations.
func (c *Compute) Normalize(p device.NormPlan) {
	if p.Cols > 0 {
		a := newNormArgs(&p)
		a.Residual, a.Sum, a.ResidualRows = p.Residual, p.Sum, int64(p.Residual.Len/p.Cols)
		launch(c, Normalize, line(p.Rows), rowThreads(p.Cols), 0, a)
	}
}

func newNormArgs(p *device.NormPlan) normArgs {
	checkTypes("norm", p.X.DType, p.Y.DType, p.Weight.DType, p.Bias.DType, p.Residual.DType)
	return normArgs{
		X: p.X, Y: p.Y, Weight: p.Weight, Bias: p.Bias, Mean: p.Mean, RStd: p.RStd,
		Rows: int64(p.Rows), Cols: int64(p.Cols), Range: 1, Eps: p.Eps, RMS: flag(p.RMS),
	}
}

// rowThreads returns the size of a block for one row, with four elements per
// thread.
func rowThreads(cols int) uint32 {
	return uint32(min(blockThreads, max(1, ceil(cols, 128))*32))
}

// normRows is how many rows a block has in the backward pass, which adds up the
// parameters' gradients. It gives enough blocks for a large device, and few
// shares to join.
const normRows = 32

// NormalizeBackward implements device.Normalizations.
func (c *Compute) NormalizeBackward(p device.NormBackwardPlan) {
	if p.Rows*p.Cols == 0 {
		return
	}
	checkTypes("norm backward", p.DY.DType, p.DX.DType, p.DWeight.DType, p.DBias.DType, p.Add.DType, p.Low.DType)
	a := newNormArgs(&p.NormPlan)
	a.DY, a.DX, a.Add, a.Low = p.DY, p.DX, p.Add, p.Low
	blocks, shared := p.Rows, 0
	if !p.DWeight.Absent() || !p.DBias.Absent() {
		perRange, ranges := c.ranges(p.Rows, normRows, 2*p.Cols)
		if shared = 2 * p.Cols * int(p.RStd.DType.Size()); shared <= mostShares {
			a.Shares, a.Range, blocks = c.scratch.Addr, int64(perRange), ranges
		} else {
			shared = 0
			perRange, ranges = c.ranges(p.Rows, reduceRows, 2*p.Cols)
		}
		join := normParamsArgs{
			X: p.X, Mean: p.Mean, RStd: p.RStd, DY: p.DY, DW: p.DWeight, DB: p.DBias, Shares: c.scratch.Addr,
			Rows: int64(p.Rows), Cols: int64(p.Cols), Range: int64(perRange), Ranges: int64(ranges), RMS: flag(p.RMS),
		}
		if a.Shares == 0 { // first: dx may be dy, which is read here
			launch(c, NormParams, [3]uint32{uint32(ceil(p.Cols, 32)), uint32(ranges), 1}, blockThreads, 0, join)
		}
		defer launch(c, NormJoin, line(ceil(2*p.Cols, blockThreads)), blockThreads, 0, join)
	}
	if a.Shares != 0 || !p.DX.Absent() {
		launch(c, NormalizeBackward, line(blocks), rowThreads(p.Cols), uint32(shared), a)
	}
}

// mostShares is the most shared memory for a block's share of the parameters'
// gradients, without the memory that its sums need.
const mostShares = MaxShared - 1024
