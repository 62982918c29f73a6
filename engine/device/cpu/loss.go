package cpu

import "github.com/memtop/memtop/engine/device"

type entropyJob struct {
	rows, classes        int
	stride               int // from one row of logits, or of dlogits, to the next
	ignore               int64
	logits, targets, lse view
	dlogits              view // the gradient is wanted when present
	factor               float64
	wide                 bool
}

// CrossEntropy implements device.Losses.
func (b *Backend) CrossEntropy(c device.CrossEntropy) {
	j := &b.jobs.entropy
	*j = b.entropyViews("cross entropy", c)
	b.pool.run(j, rowParts(c.Rows, c.Classes))
	total, counted := 0.0, 0.0
	for row := range c.Rows {
		target := j.targets.index(row)
		switch {
		case target == c.IgnoreIndex:
			continue
		case target < 0 || target >= int64(c.Classes):
			b.fail("cross entropy: target %d of row %d is none of %d classes", target, row, c.Classes)
			continue
		}
		counted++
		total += j.lse.number(row) - j.logits.number(row*j.stride+int(target))
	}
	b.view("cross entropy", "loss", c.Loss, 1).setNumber(0, total/counted)
	b.view("cross entropy", "count", c.Count, 1).setNumber(0, counted)
}

// CrossEntropyBoth implements device.Losses.
func (b *Backend) CrossEntropyBoth(dlogits device.Array, c device.CrossEntropy, dloss device.Array) {
	b.CrossEntropy(c)
	b.CrossEntropyBackward(dlogits, c, dloss)
}

// CrossEntropyBackward implements device.Losses.
func (b *Backend) CrossEntropyBackward(dlogits device.Array, c device.CrossEntropy, dloss device.Array) {
	const name = "cross entropy backward"
	j := &b.jobs.entropy
	*j = b.entropyViews(name, c)
	device.CheckFloat(name, dlogits.DType)
	j.dlogits = b.view(name, "dlogits", dlogits, c.Rows*j.stride)
	count := b.resolve(c.Count).number(0)
	j.factor = b.view(name, "dloss", dloss, 1).number(0) / count
	b.pool.run(j, rowParts(c.Rows, c.Classes))
}

func (b *Backend) entropyViews(name string, c device.CrossEntropy) entropyJob {
	c.Check(name)
	return entropyJob{
		rows: c.Rows, classes: c.Classes, stride: c.RowStride(), ignore: c.IgnoreIndex,
		logits: b.resolve(c.Logits), targets: b.resolve(c.Targets), lse: b.resolve(c.LSE), wide: c.Logits.DType == device.Float64,
	}
}

func (j *entropyJob) run(w *worker, part int) {
	inType(j.wide, entropyPart[float64], entropyPart[float32])(w, j, part)
}

func entropyPart[T float](w *worker, j *entropyJob, part int) {
	eachRow(part, j.rows, j.classes, func(row int) {
		at := row * j.stride
		x := load[T](w, slotA, j.logits, at, j.classes)
		if j.dlogits.absent() {
			top := maximum(x)
			total := exponentials(scratch[T](w, slotB, j.classes), x, 1, top)
			slice[T](j.lse, row, 1)[0] = top + logarithm[T](total)
			return
		}
		dx := room[T](w, slotB, j.dlogits, at, j.classes)
		entropyGradRow(dx, x, slice[T](j.lse, row, 1)[0], j.targets.index(row), j.ignore, T(j.factor))
		store(j.dlogits, at, dx)
		if between := j.stride - j.classes; between > 0 {
			zeros := room[T](w, slotB, j.dlogits, at+j.classes, between)
			clear(zeros)
			store(j.dlogits, at+j.classes, zeros)
		}
	})
}

// entropyGradRow sets dx = (e^(x−lse) − [target])·factor, or 0 for a row that
// does not count.
func entropyGradRow[T float](dx, x []T, lse T, target, ignore int64, factor T) {
	if target == ignore || target < 0 || target >= int64(len(x)) {
		clear(dx)
		return
	}
	exponentials(dx, x, 1, lse)
	dx[target]--
	multiplyRow(dx, dx, factor)
}
