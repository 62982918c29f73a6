package cpu

import "github.com/memtop/memtop/engine/device"

// attentionGradJob computes the gradients of one head of one batch per part.
type attentionGradJob struct {
	attentionJob
	do, dq, dk, dv heads
	perHead        int // elements of work
}

// AttentionBackward implements device.Attentions.
func (b *Backend) AttentionBackward(p device.AttentionBackwardPlan) {
	j := &b.jobs.attendGrad
	*j = attentionGradJob{
		attentionJob: b.resolveAttention(p.AttentionPlan), perHead: p.GradientElements(),
		do: b.resolveHeads(p.DO), dq: b.resolveHeads(p.DQ), dk: b.resolveHeads(p.DK), dv: b.resolveHeads(p.DV),
	}
	j.work = b.scratchView(p.Work, p.Compute, p.BackwardWorkspace())
	b.pool.run(j, p.AllHeads)
}

func (j *attentionGradJob) run(w *worker, part int) {
	inType(j.Wide(), attendGradPart[float64], attendGradPart[float32])(w, j, part)
}

func attendGradPart[T float](w *worker, j *attentionGradJob, part int) {
	work := slice[T](j.work, part*j.perHead, j.perHead)
	batch, head := part/j.Heads, part%j.Heads
	switch j.Kind {
	case device.Naive:
		naiveGrad(w, j, part, batch, head, work)
	case device.Chunked:
		chunkedGrad(w, j, batch, head, work)
	default:
		flashGrad(w, j, batch, head, work)
	}
}

func naiveGrad[T float](w *worker, j *attentionGradJob, part, batch, head int, ds []T) {
	probs := j.probs.at(part * j.Queries * j.Keys)
	j.gradOfProbs(w, viewOf(ds), j.Keys, batch, head, 0, j.Queries, 0, j.Keys)
	for r := range j.Queries {
		row := ds[r*j.Keys : (r+1)*j.Keys]
		softmaxGradRow(row, load[T](w, slotA, probs, r*j.Keys, j.Keys), row)
	}
	j.multiply(w, product{
		c: j.dv.at(batch, head, 0), a: probs, b: j.do.at(batch, head, 0), m: j.Keys, n: j.Dim, k: j.Queries,
		ldc: j.dv.row, lda: j.Keys, ldb: j.do.row, transA: true,
	})
	j.multiply(w, product{
		c: j.dq.at(batch, head, 0), a: viewOf(ds), b: j.k.at(batch, head, 0), m: j.Queries, n: j.Dim, k: j.Keys,
		ldc: j.dq.row, lda: j.Keys, ldb: j.k.row, alpha: j.Scale,
	})
	j.multiply(w, product{
		c: j.dk.at(batch, head, 0), a: viewOf(ds), b: j.q.at(batch, head, 0), m: j.Keys, n: j.Dim, k: j.Queries,
		ldc: j.dk.row, lda: j.Keys, ldb: j.q.row, transA: true, alpha: j.Scale,
	})
}

// gradOfProbs sets c to dO·Vᵀ for a range of queries and of keys.
func (j *attentionGradJob) gradOfProbs(w *worker, c view, stride, batch, head, query, rows, key, cols int) {
	j.multiply(w, product{
		c: c, a: j.do.at(batch, head, query), b: j.v.at(batch, head, key), m: rows, n: cols, k: j.Dim,
		ldc: stride, lda: j.do.row, ldb: j.v.row, transB: true,
	})
}
