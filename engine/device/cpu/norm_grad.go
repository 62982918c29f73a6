package cpu

import (
	"slices"

	"github.com/memtop/memtop/engine/device"
)

// normGradJob computes the gradients of a normalisation row by row: dx, and of
// every part its share of dw and db, which are added up afterwards in the order of
// the parts.
type normGradJob struct {
	normJob
	dy, dx, add, low view
	dw, db           view
	rows             int       // of a part
	partials         []float64 // [parts][dw, db][Cols], empty where neither is wanted
	joins            bool
}

// normGradParts bounds the parts, whose shares take 16 bytes a column.
const normGradParts = 128

// NormalizeBackward implements device.Normalizations.
func (b *Backend) NormalizeBackward(p device.NormBackwardPlan) {
	if p.Rows*p.Cols == 0 {
		return
	}
	j := &b.jobs.normGrad
	*j = normGradJob{
		normJob: b.resolveNorm(p.NormPlan), dy: b.resolve(p.DY), dx: b.resolve(p.DX), add: b.resolve(p.Add), low: b.resolve(p.Low),
		dw: b.resolve(p.DWeight), db: b.resolve(p.DBias), partials: j.partials[:0],
	}
	j.rows = max(rowsPerPart(p.Cols), (p.Rows+normGradParts-1)/normGradParts)
	parts := (p.Rows + j.rows - 1) / j.rows
	wanted := !j.dw.absent() || !j.db.absent()
	if wanted {
		n := 2 * parts * p.Cols
		j.partials = slices.Grow(j.partials, n)[:n]
	}
	b.pool.run(j, parts)
	if wanted {
		j.joins = true
		b.pool.run(j, (p.Cols+paramCols-1)/paramCols)
	}
}

// paramCols is how many columns of dw and db a part joins.
const paramCols = 256

func (j *normGradJob) run(w *worker, part int) {
	switch {
	case j.joins:
		j.join(part*paramCols, min(paramCols, j.Cols-part*paramCols))
	case j.Wide():
		normGradPart[float64](w, j, part)
	default:
		normGradPart[float32](w, j, part)
	}
}

// normGradPart does the rows of a part. dx may be dy or add.
func normGradPart[T float](w *worker, j *normGradJob, part int) {
	var weight []T
	var dw, db []float64
	if !j.weight.absent() {
		weight = load[T](w, slotA, j.weight, 0, j.Cols)
	}
	if len(j.partials) > 0 {
		own := j.partials[2*part*j.Cols:][:2*j.Cols]
		clear(own)
		dw, db = own[:j.Cols], own[j.Cols:]
	}
	for row := part * j.rows; row < min(j.Rows, (part+1)*j.rows); row++ {
		at := row * j.Cols
		var mean T
		if !j.RMS {
			mean = slice[T](j.mean, row, 1)[0]
		}
		rstd := slice[T](j.rstd, row, 1)[0]
		dy, unit := load[T](w, slotC, j.dy, at, j.Cols), scratch[T](w, slotE, j.Cols)
		standardize(unit, load[T](w, slotB, j.x, at, j.Cols), mean, rstd)
		if dw != nil {
			accumulateProducts(dw, dy, unit)
			accumulate(db, dy)
		}
		if !j.dx.absent() {
			storeNormGrad(w, j, at, dy, unit, weight, rstd)
		}
	}
}

// storeNormGrad computes and stores a row of dx, of which unit is x̂.
func storeNormGrad[T float](w *worker, j *normGradJob, at int, dy, unit, weight []T, rstd T) {
	g := dy
	if weight != nil {
		g = scratch[T](w, slotF, j.Cols)
		combine(device.Mul, g, dy, weight)
	}
	n, shift := float64(j.Cols), 0.0
	if !j.RMS {
		shift = sum(g) / n
	}
	dx := room[T](w, slotD, j.dx, at, j.Cols)
	own := dx
	if !j.add.absent() {
		own = unit
	}
	addScaled(own, g, unit, T(-dot(g, unit)/n))
	standardize(own, own, T(shift), rstd)
	if !j.add.absent() {
		combine(device.Add, dx, own, load[T](w, slotB, j.add, at, j.Cols))
	}
	store(j.dx, at, dx)
	if !j.low.absent() {
		narrow(j.low, at, dx)
	}
}

// join adds up the parts' shares of n columns from col on.
func (j *normGradJob) join(col, n int) {
	for i, dst := range []view{j.dw, j.db} {
		if dst.absent() {
			continue
		}
		sums := j.partials[i*j.Cols+col:][:n]
		for at := 2*j.Cols + i*j.Cols + col; at < len(j.partials); at += 2 * j.Cols {
			accumulate(sums, j.partials[at:at+n])
		}
		narrow(dst, col, sums)
	}
}
