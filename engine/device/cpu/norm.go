package cpu

import (
	"fmt"

	"memtop/engine/device"
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

// normJob computes LayerNorm and, when rms is set, RMSNorm.
type normJob struct {
	rows, cols         int
	eps                float64
	x, y, weight, bias view
	mean, rstd         view
	rms, wide          bool
}

// LayerNorm implements device.Normalizations.
func (b *Backend) LayerNorm(n device.Norm) { b.normalize("layer norm", n, false) }

// RMSNorm implements device.Normalizations.
func (b *Backend) RMSNorm(n device.Norm) { b.normalize("rms norm", n, true) }

func (b *Backend) normalize(name string, n device.Norm, rms bool) {
	requireFloat(name, n.X.DType, n.Y.DType, n.Weight.DType, n.Bias.DType)
	b.jobs.norm = b.normViews(name, n, rms)
	b.jobs.norm.y = b.view(name, "y", n.Y, n.Rows*n.Cols)
	if n.Cols > 0 {
		b.pool.run(&b.jobs.norm, rowParts(n.Rows, n.Cols))
	}
}

// normViews resolves what forward and backward share.
func (b *Backend) normViews(name string, n device.Norm, rms bool) normJob {
	wide := n.X.DType == device.Float64
	statistic := computeType(wide)
	if n.RStd.DType != statistic || !rms && n.Mean.DType != statistic {
		panic(fmt.Sprintf("cpu: %s: statistics of %v and %v, want %v", name, n.Mean.DType, n.RStd.DType, statistic))
	}
	j := normJob{
		rows: n.Rows, cols: n.Cols, eps: n.Eps, x: b.view(name, "x", n.X, n.Rows*n.Cols),
		weight: b.optional(name, "weight", n.Weight, n.Cols), rstd: b.view(name, "rstd", n.RStd, n.Rows),
		rms: rms, wide: wide,
	}
	if !rms {
		j.bias = b.optional(name, "bias", n.Bias, n.Cols)
		j.mean = b.view(name, "mean", n.Mean, n.Rows)
	}
	return j
}

func (j *normJob) run(w *worker, part int) {
	if j.wide {
		normPart[float64](w, j, part)
	} else {
		normPart[float32](w, j, part)
	}
}

func normPart[T float](w *worker, j *normJob, part int) {
	var weight, bias []T
	if !j.weight.absent() {
		weight = load[T](w, slotA, j.weight, 0, j.cols)
	}
	if !j.bias.absent() {
		bias = load[T](w, slotB, j.bias, 0, j.cols)
	}
	eachRow(part, j.rows, j.cols, func(row int) {
		x := load[T](w, slotC, j.x, row*j.cols, j.cols)
		y := room[T](w, slotD, j.y, row*j.cols, j.cols)
		mean, rstd := statistics(x, j.eps, j.rms)
		if !j.rms {
			slice[T](j.mean, row, 1)[0] = T(mean)
		}
		slice[T](j.rstd, row, 1)[0] = T(rstd)
		affine(y, x, weight, bias, T(mean), T(rstd))
		store(j.y, row*j.cols, y)
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
	x = x[:len(y)]
	for i := range y {
		v := (x[i] - mean) * rstd
		if weight != nil {
			v *= weight[i]
		}
		if bias != nil {
			v += bias[i]
		}
		y[i] = v
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

// LayerNormBackward implements device.Normalizations.
func (b *Backend) LayerNormBackward(g device.NormBackward) {
	b.normBackward("layer norm backward", g, false)
}

// RMSNormBackward implements device.Normalizations.
func (b *Backend) RMSNormBackward(g device.NormBackward) {
	b.normBackward("rms norm backward", g, true)
}

func (b *Backend) normBackward(name string, g device.NormBackward, rms bool) {
	requireFloat(name, g.N.X.DType, g.DY.DType, g.DX.DType, g.DWeight.DType, g.DBias.DType)
	g.N.Bias = device.Array{}
	j := b.normViews(name, g.N, rms)
	n := j.rows * j.cols
	dy := b.view(name, "dy", g.DY, n)
	if n == 0 {
		return
	}
	if !g.DX.Absent() {
		b.jobs.normGrad = normGradJob{j, dy, b.view(name, "dx", g.DX, n)}
		// dx may be dy, which the parameters' gradients read: they go first.
		defer func() { b.pool.run(&b.jobs.normGrad, rowParts(j.rows, j.cols)) }()
	}
	if !g.DWeight.Absent() || !g.DBias.Absent() {
		b.jobs.normParams = normParamsJob{
			j, dy, b.optional(name, "dweight", g.DWeight, j.cols), b.optional(name, "dbias", g.DBias, j.cols),
		}
		b.pool.run(&b.jobs.normParams, (j.cols+paramCols-1)/paramCols)
	}
}

func (j *normGradJob) run(w *worker, part int) {
	if j.wide {
		normGradPart[float64](w, j, part)
	} else {
		normGradPart[float32](w, j, part)
	}
}

func normGradPart[T float](w *worker, j *normGradJob, part int) {
	var weight []T
	if !j.weight.absent() {
		weight = load[T](w, slotA, j.weight, 0, j.cols)
	}
	eachRow(part, j.rows, j.cols, func(row int) {
		at := row * j.cols
		x, dy := load[T](w, slotB, j.x, at, j.cols), load[T](w, slotC, j.dy, at, j.cols)
		dx := room[T](w, slotD, j.dx, at, j.cols)
		var mean T
		if !j.rms {
			mean = slice[T](j.mean, row, 1)[0]
		}
		normGradRow(dx, x, dy, weight, mean, slice[T](j.rstd, row, 1)[0], j.rms)
		store(j.dx, at, dx)
	})
}

func normGradRow[T float](dx, x, dy, weight []T, mean, rstd T, rms bool) {
	var sumG, sumGX float64
	x, dy = x[:len(dx)], dy[:len(dx)]
	for i := range dx {
		g := dy[i]
		if weight != nil {
			g *= weight[i]
		}
		sumG += float64(g)
		sumGX += float64(g) * float64((x[i]-mean)*rstd)
	}
	n := float64(len(x))
	avgG, avgGX := T(sumG/n), T(sumGX/n)
	if rms {
		avgG = 0
	}
	for i := range dx {
		g := dy[i]
		if weight != nil {
			g *= weight[i]
		}
		dx[i] = rstd * (g - avgG - (x[i]-mean)*rstd*avgGX)
	}
}

func (j *normParamsJob) run(w *worker, part int) {
	if j.wide {
		normParamsPart[float64](w, j, part)
	} else {
		normParamsPart[float32](w, j, part)
	}
}

func normParamsPart[T float](w *worker, j *normParamsJob, part int) {
	col := part * paramCols
	n := min(paramCols, j.cols-col)
	var dw, db [paramCols]float64
	for row := range j.rows {
		x := load[T](w, slotA, j.x, row*j.cols+col, n)
		dy := load[T](w, slotB, j.dy, row*j.cols+col, n)
		rstd := slice[T](j.rstd, row, 1)[0]
		var mean T
		if !j.rms {
			mean = slice[T](j.mean, row, 1)[0]
		}
		for i, g := range dy {
			dw[i] += float64(g) * float64((x[i]-mean)*rstd)
			db[i] += float64(g)
		}
	}
	if !j.dw.absent() {
		narrow(j.dw, col, dw[:n])
	}
	if !j.db.absent() {
		narrow(j.db, col, db[:n])
	}
}
