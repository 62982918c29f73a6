package cpu

import (
	"math"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

type softmaxJob struct {
	rows, cols int
	y, x       view
	dy         view // the gradient is wanted when present, and then x is dx
	wide       bool
	causal     bool
}

// Softmax implements device.Normalizations.
func (b *Backend) Softmax(y, x device.Array, rows, cols int, causal bool) {
	b.softmax("softmax", softmaxJob{causal: causal}, y, x, device.Array{DType: x.DType}, rows, cols)
}

// SoftmaxBackward implements device.Normalizations.
func (b *Backend) SoftmaxBackward(dx, y, dy device.Array, rows, cols int) {
	device.CheckLen("softmax backward", "dy", dy, rows*cols)
	b.softmax("softmax backward", softmaxJob{}, y, dx, dy, rows, cols)
}

func (b *Backend) softmax(name string, j softmaxJob, y, x, dy device.Array, rows, cols int) {
	device.CheckFloat(name, y.DType, x.DType, dy.DType)
	j.rows, j.cols, j.wide = rows, cols, device.Wide(y.DType, x.DType, dy.DType)
	j.y, j.x, j.dy = b.view(name, "y", y, rows*cols), b.view(name, "x", x, rows*cols), b.resolve(dy)
	b.jobs.softmax = j
	b.pool.run(&b.jobs.softmax, rowParts(rows, cols))
}

func (j *softmaxJob) run(w *worker, part int) {
	inType(j.wide, softmaxPart[float64], softmaxPart[float32])(w, j, part)
}

func softmaxPart[T float](w *worker, j *softmaxJob, part int) {
	if j.cols == 0 {
		return
	}
	eachRow(part, j.rows, j.cols, func(row int) {
		at := row * j.cols
		if j.dy.absent() {
			y := room[T](w, slotB, j.y, at, j.cols)
			x := load[T](w, slotA, j.x, at, j.cols)
			if j.causal {
				copy(y, x)
				softmaxFirst(y, row%j.cols+1, 1)
			} else {
				softmaxRow(y, x, 1)
			}
			store(j.y, at, y)
			return
		}
		y, dy := load[T](w, slotA, j.y, at, j.cols), load[T](w, slotB, j.dy, at, j.cols)
		dx := room[T](w, slotC, j.x, at, j.cols)
		softmaxGradRow(dx, y, dy)
		store(j.x, at, dx)
	})
}

// softmaxRow sets y to the softmax of scale·x and returns log Σ e^(scale·x).
func softmaxRow[T float](y, x []T, scale T) T {
	top := maximum(x) * scale
	total := exponentials(y, x, scale, top)
	multiplyRow(y, y, T(1/total))
	return top + logarithm[T](total)
}

// exponentials sets y = e^(scale·x−shift) and returns the sum.
func exponentials[T float](y, x []T, scale, shift T) float64 {
	x = x[:len(y)]
	done := simd.Exp(single(y), single(x), float32(scale), float32(shift))
	for i := done; i < len(y); i++ {
		y[i] = exp(x[i]*scale - shift)
	}
	return sum(y)
}

// visible returns the scores that a query sees, followed by −Inf, whose exponential is
// 0, up to whole vectors. Those beyond become 0.
func visible[T float](x []T, seen int) []T {
	n := min(len(x), (seen+7)&^7)
	for i := seen; i < n; i++ {
		x[i] = T(math.Inf(-1))
	}
	clear(x[n:])
	return x[:n]
}

// softmaxGradRow sets dx = y·(dy − Σ y·dy).
func softmaxGradRow[T float](dx, y, dy []T) {
	standardize(dx, dy, T(dot(y, dy)), 1)
	combine(device.Mul, dx, dx, y)
}
