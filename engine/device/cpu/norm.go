package cpu

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
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
	residual, sum      view
	mean, rstd         view
}

// Normalize implements device.Normalizations.
func (b *Backend) Normalize(p device.NormPlan) {
	j := b.resolveNorm(p)
	j.y, j.bias = b.resolve(p.Y), b.resolve(p.Bias)
	j.residual, j.sum = b.resolve(p.Residual), b.resolve(p.Sum)
	b.jobs.norm = j
	if p.Cols > 0 {
		b.pool.run(&b.jobs.norm, rowParts(p.Rows, p.Cols))
	}
}

// resolveNorm resolves what forward and backward share.
func (b *Backend) resolveNorm(p device.NormPlan) normJob {
	return normJob{NormPlan: p, x: b.resolve(p.X), weight: b.resolve(p.Weight), mean: b.resolve(p.Mean), rstd: b.resolve(p.RStd)}
}

func (j *normJob) run(w *worker, part int) {
	inType(j.Wide(), normPart[float64], normPart[float32])(w, j, part)
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
		x := normalized[T](w, j, row*j.Cols)
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

// normalized returns the row from element at on that is to be normalised: of the
// sum, stored and as it is stored, where there is one.
func normalized[T float](w *worker, j *normJob, at int) []T {
	x := load[T](w, slotC, j.x, at, j.Cols)
	if j.residual.absent() {
		return x
	}
	sum := room[T](w, slotE, j.sum, at, j.Cols)
	combine(device.Add, sum, x, load[T](w, slotF, j.residual, at%j.residual.n, j.Cols))
	store(j.sum, at, sum)
	return load[T](w, slotE, j.sum, at, j.Cols)
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
