package cpu

import (
	"memtop/engine/device"
	"memtop/engine/device/cpu/simd"
)

// Operations on rows are cut into parts of whole rows, about this many elements.
const rowElements = 16 << 10

func rowsPerPart(cols int) int { return max(1, rowElements/max(1, cols)) }

func rowParts(rows, cols int) int {
	per := rowsPerPart(cols)
	return (rows + per - 1) / per
}

// eachRow calls do for the rows of a part.
func eachRow(part, rows, cols int, do func(row int)) {
	per := rowsPerPart(cols)
	for row := part * per; row < min(rows, (part+1)*per); row++ {
		do(row)
	}
}

// normJob computes a normalisation.
type normJob struct {
	device.NormPlan
	x, y, weight, bias view
	mean, rstd         view
}

// Normalize implements device.Normalizations.
func (b *Backend) Normalize(p device.NormPlan) {
	b.jobs.norm = b.resolveNorm(p)
	b.jobs.norm.y, b.jobs.norm.bias = b.resolve(p.Y), b.resolve(p.Bias)
	if p.Cols > 0 {
		b.pool.run(&b.jobs.norm, rowParts(p.Rows, p.Cols))
	}
}

// resolveNorm resolves what forward and backward share.
func (b *Backend) resolveNorm(p device.NormPlan) normJob {
	return normJob{NormPlan: p, x: b.resolve(p.X), weight: b.resolve(p.Weight), mean: b.resolve(p.Mean), rstd: b.resolve(p.RStd)}
}

func (j *normJob) run(w *worker, part int) {
	if j.Wide() {
		normPart[float64](w, j, part)
	} else {
		normPart[float32](w, j, part)
	}
}

func normPart[T float](w *worker, j *normJob, part int) {
	var weight, bias []T
	if !j.weight.absent() {
		weight = load[T](w, slotA, j.weight, 0, j.Cols)
	}
	if !j.bias.absent() {
		bias = load[T](w, slotB, j.bias, 0, j.Cols)
	}
	eachRow(part, j.Rows, j.Cols, func(row int) {
		x := load[T](w, slotC, j.x, row*j.Cols, j.Cols)
		y := room[T](w, slotD, j.y, row*j.Cols, j.Cols)
		mean, rstd := statistics(x, j.Eps, j.RMS)
		if !j.RMS {
			slice[T](j.mean, row, 1)[0] = T(mean)
		}
		slice[T](j.rstd, row, 1)[0] = T(rstd)
		affine(y, x, weight, bias, T(mean), T(rstd))
		store(j.y, row*j.Cols, y)
	})
}

// statistics returns a row's mean, 0 for RMSNorm, and 1/√(variance + eps).
func statistics[T float](x []T, eps float64, rms bool) (mean, rstd float64) {
	n := float64(len(x))
	if rms {
		return 0, 1 / sqrt(dot(x, x)/n+eps)
	}
	mean = sum(x) / n
	return mean, 1 / sqrt(deviation(x, mean)/n+eps)
}

// affine sets y = (x−mean)·rstd·weight + bias.
func affine[T float](y, x, weight, bias []T, mean, rstd T) {
	standardize(y, x, mean, rstd)
	if weight != nil {
		combine(device.Mul, y, y, weight)
	}
	if bias != nil {
		combine(device.Add, y, y, bias)
	}
}

// standardize sets dst = (x−mean)·rstd.
func standardize[T float](dst, x []T, mean, rstd T) {
	x = x[:len(dst)]
	for i := simd.Standardize(single(dst), single(x), float32(mean), float32(rstd)); i < len(dst); i++ {
		dst[i] = (x[i] - mean) * rstd
	}
}

// normGradJob computes dx, row by row.
type normGradJob struct {
	normJob
	dy, dx view
}

// normParamsJob computes dw and db: a part is a block of columns and goes
// through all rows, so that the sums have one order.
type normParamsJob struct {
	normJob
	dy, dw, db view
}

const paramCols = 64

// NormalizeBackward implements device.Normalizations.
func (b *Backend) NormalizeBackward(p device.NormBackwardPlan) {
	if p.Rows*p.Cols == 0 {
		return
	}
	j, dy := b.resolveNorm(p.NormPlan), b.resolve(p.DY)
	// dx may be dy, which the parameters' gradients read: they go first.
	if !p.DWeight.Absent() || !p.DBias.Absent() {
		b.jobs.normParams = normParamsJob{j, dy, b.resolve(p.DWeight), b.resolve(p.DBias)}
		b.pool.run(&b.jobs.normParams, (p.Cols+paramCols-1)/paramCols)
	}
	if !p.DX.Absent() {
		b.jobs.normGrad = normGradJob{j, dy, b.resolve(p.DX)}
		b.pool.run(&b.jobs.normGrad, rowParts(p.Rows, p.Cols))
	}
}

func (j *normGradJob) run(w *worker, part int) {
	if j.Wide() {
		normGradPart[float64](w, j, part)
	} else {
		normGradPart[float32](w, j, part)
	}
}

func normGradPart[T float](w *worker, j *normGradJob, part int) {
	var weight []T
	if !j.weight.absent() {
		weight = load[T](w, slotA, j.weight, 0, j.Cols)
	}
	eachRow(part, j.Rows, j.Cols, func(row int) {
		at := row * j.Cols
		x, dy := load[T](w, slotB, j.x, at, j.Cols), load[T](w, slotC, j.dy, at, j.Cols)
		dx := room[T](w, slotD, j.dx, at, j.Cols)
		var mean T
		if !j.RMS {
			mean = slice[T](j.mean, row, 1)[0]
		}
		normGradRow(w, dx, x, dy, weight, mean, slice[T](j.rstd, row, 1)[0], j.RMS)
		store(j.dx, at, dx)
	})
}

// normGradRow may be given dy as dx.
func normGradRow[T float](w *worker, dx, x, dy, weight []T, mean, rstd T, rms bool) {
	unit, g := scratch[T](w, slotE, len(x)), dy
	standardize(unit, x, mean, rstd)
	if weight != nil {
		g = scratch[T](w, slotF, len(x))
		combine(device.Mul, g, dy, weight)
	}
	n, shift := float64(len(x)), 0.0
	if !rms {
		shift = sum(g) / n
	}
	addScaled(dx, g, unit, T(-dot(g, unit)/n))
	standardize(dx, dx, T(shift), rstd)
}

func (j *normParamsJob) run(w *worker, part int) {
	if j.Wide() {
		normParamsPart[float64](w, j, part)
	} else {
		normParamsPart[float32](w, j, part)
	}
}

func normParamsPart[T float](w *worker, j *normParamsJob, part int) {
	col := part * paramCols
	n := min(paramCols, j.Cols-col)
	var dw, db [paramCols]float64
	unit := scratch[T](w, slotC, n)
	for row := range j.Rows {
		x := load[T](w, slotA, j.x, row*j.Cols+col, n)
		dy := load[T](w, slotB, j.dy, row*j.Cols+col, n)
		rstd := slice[T](j.rstd, row, 1)[0]
		var mean T
		if !j.RMS {
			mean = slice[T](j.mean, row, 1)[0]
		}
		standardize(unit, x, mean, rstd)
		accumulateProducts(dw[:n], dy, unit)
		accumulate(db[:n], dy)
	}
	if !j.dw.absent() {
		narrow(j.dw, col, dw[:n])
	}
	if !j.db.absent() {
		narrow(j.db, col, db[:n])
	}
}
