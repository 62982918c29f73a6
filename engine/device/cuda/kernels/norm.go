package kernels

import "memtop/engine/device"

type normArgs struct {
	X, Y, Weight, Bias, Mean, RStd, DY, DX device.Array
	Rows, Cols                             int64
	Eps                                    float64
	RMS                                    int32
}

type normParamsArgs struct {
	X, Mean, RStd, DY device.Array
	DW, DB            uint64
	Rows, Cols, Range int64
	RMS               int32
}

// Normalize implements device.Normalizations.
func (c *Compute) Normalize(p device.NormPlan) {
	if p.Cols > 0 {
		launch(c, pick(p.Wide(), NormalizeWide, Normalize), line(p.Rows), rowThreads(p.Cols), 0, newNormArgs(&p))
	}
}

func newNormArgs(p *device.NormPlan) normArgs {
	return normArgs{
		X: p.X, Y: p.Y, Weight: p.Weight, Bias: p.Bias, Mean: p.Mean, RStd: p.RStd,
		Rows: int64(p.Rows), Cols: int64(p.Cols), Eps: p.Eps, RMS: flag(p.RMS),
	}
}

// rowThreads is the size of a block that has one row, four elements a thread.
func rowThreads(cols int) uint32 {
	return uint32(min(blockThreads, max(1, ceil(cols, 128))*32))
}

// NormalizeBackward implements device.Normalizations.
func (c *Compute) NormalizeBackward(p device.NormBackwardPlan) {
	if p.Rows*p.Cols == 0 {
		return
	}
	// dx may be dy, which the parameters' gradients read: compute them first.
	if !p.DWeight.Absent() || !p.DBias.Absent() {
		c.normParams(&p)
	}
	if !p.DX.Absent() {
		a := newNormArgs(&p.NormPlan)
		a.DY, a.DX = p.DY, p.DX
		launch(c, pick(p.Wide(), NormalizeBackwardWide, NormalizeBackward), line(p.Rows), rowThreads(p.Cols), 0, a)
	}
}

// normParams computes the parameters' gradients: sums of ranges of rows, which
// are then joined.
func (c *Compute) normParams(p *device.NormBackwardPlan) {
	rows, cols := p.Rows, p.Cols
	perRange, ranges := c.ranges(rows, reduceRows, 2*cols)
	dw := c.scratch.Addr
	db := dw + uint64(8*ranges*cols)
	launch(c, pick(p.Wide(), NormParamsWide, NormParams), [3]uint32{uint32(ceil(cols, 32)), uint32(ranges), 1}, blockThreads, 0, normParamsArgs{
		X: p.X, Mean: p.Mean, RStd: p.RStd, DY: p.DY, DW: dw, DB: db, Rows: int64(rows), Cols: int64(cols), Range: int64(perRange), RMS: flag(p.RMS),
	})
	for _, sum := range [2]struct {
		dst      device.Array
		partials uint64
	}{{p.DWeight, dw}, {p.DBias, db}} {
		if !sum.dst.Absent() {
			launch(c, ReduceRanges, line(ceil(cols, blockThreads)), blockThreads, 0, reduceArgs{
				Dst: sum.dst, Partials: sum.partials, Outer: 1, N: int64(rows), Inner: int64(cols), Ranges: int64(ranges),
			})
		}
	}
}
