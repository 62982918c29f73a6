package kernels

import (
	"fmt"

	"memtop/engine/device"
)

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

// LayerNorm implements device.Normalizations.
func (c *Compute) LayerNorm(n device.Norm) { c.normalize("layer norm", n, false) }

// RMSNorm implements device.Normalizations.
func (c *Compute) RMSNorm(n device.Norm) { c.normalize("rms norm", n, true) }

func (c *Compute) normalize(name string, n device.Norm, rms bool) {
	needFloat(name, n.X.DType, n.Y.DType, n.Weight.DType, n.Bias.DType)
	a, wide := newNorm(name, n, rms)
	need(name, "y", n.Y, n.Rows*n.Cols)
	a.Y = n.Y
	if !rms {
		allow(name, "bias", n.Bias, n.Cols)
		a.Bias = n.Bias
	}
	if n.Cols > 0 {
		run(c, pick(wide, NormalizeWide, Normalize), line(n.Rows), rowThreads(n.Cols), 0, a)
	}
}

// newNorm checks what forward and backward share. Absent statistics stay so.
func newNorm(name string, n device.Norm, rms bool) (a normArgs, wide bool) {
	wide = n.X.DType == device.Float64
	if kind := computeType(wide); n.RStd.DType != kind || !rms && n.Mean.DType != kind {
		panic(fmt.Sprintf("kernels: %s: statistics of %v and %v, want %v", name, n.Mean.DType, n.RStd.DType, kind))
	}
	need(name, "x", n.X, n.Rows*n.Cols)
	need(name, "rstd", n.RStd, n.Rows)
	allow(name, "weight", n.Weight, n.Cols)
	a = normArgs{X: n.X, Weight: n.Weight, RStd: n.RStd, Rows: int64(n.Rows), Cols: int64(n.Cols), Eps: n.Eps, RMS: 1}
	if !rms {
		need(name, "mean", n.Mean, n.Rows)
		a.Mean, a.RMS = n.Mean, 0
	}
	return a, wide
}

// rowThreads is the size of a block that has one row, four elements a thread.
func rowThreads(cols int) uint32 {
	return uint32(min(blockThreads, max(1, ceil(cols, 128))*32))
}

// LayerNormBackward implements device.Normalizations.
func (c *Compute) LayerNormBackward(g device.NormBackward) {
	c.normBackward("layer norm backward", g, false)
}

// RMSNormBackward implements device.Normalizations.
func (c *Compute) RMSNormBackward(g device.NormBackward) {
	c.normBackward("rms norm backward", g, true)
}

func (c *Compute) normBackward(name string, g device.NormBackward, rms bool) {
	needFloat(name, g.N.X.DType, g.DY.DType, g.DX.DType, g.DWeight.DType, g.DBias.DType)
	a, wide := newNorm(name, g.N, rms)
	n := g.N.Rows * g.N.Cols
	need(name, "dy", g.DY, n)
	allow(name, "dx", g.DX, n)
	allow(name, "dweight", g.DWeight, g.N.Cols)
	allow(name, "dbias", g.DBias, g.N.Cols)
	if n == 0 {
		return
	}
	// dx may be dy, which the parameters' gradients read: they go first.
	if !g.DWeight.Absent() || !g.DBias.Absent() {
		c.normParams(a, g, wide)
	}
	if !g.DX.Absent() {
		a.DY, a.DX = g.DY, g.DX
		run(c, pick(wide, NormalizeBackwardWide, NormalizeBackward), line(g.N.Rows), rowThreads(g.N.Cols), 0, a)
	}
}

// normParams computes the parameters' gradients: sums of ranges of rows, which
// are then joined.
func (c *Compute) normParams(a normArgs, g device.NormBackward, wide bool) {
	rows, cols := g.N.Rows, g.N.Cols
	perRange, ranges := c.ranges(rows, reduceRows, 2*cols)
	dw := c.scratch.Addr
	db := dw + uint64(8*ranges*cols)
	run(c, pick(wide, NormParamsWide, NormParams), [3]uint32{uint32(ceil(cols, 32)), uint32(ranges), 1}, blockThreads, 0, normParamsArgs{
		X: a.X, Mean: a.Mean, RStd: a.RStd, DY: g.DY, DW: dw, DB: db, Rows: a.Rows, Cols: a.Cols, Range: int64(perRange), RMS: a.RMS,
	})
	for _, sum := range [2]struct {
		dst      device.Array
		partials uint64
	}{{g.DWeight, dw}, {g.DBias, db}} {
		if !sum.dst.Absent() {
			run(c, ReduceRanges, line(ceil(cols, blockThreads)), blockThreads, 0, reduceArgs{
				Dst: sum.dst, Partials: sum.partials, Outer: 1, N: a.Rows, Inner: a.Cols, Ranges: int64(ranges),
			})
		}
	}
}
