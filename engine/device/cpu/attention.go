package cpu

import (
	"math"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// attendTile is the rows and columns of a tile of scores in Flash.
const attendTile = 64

// heads is a resolved device.Heads.
type heads struct {
	v                view
	batch, head, row int
}

// at returns the view of one head from a row on.
func (h heads) at(batch, head, row int) view {
	return h.v.at(batch*h.batch + head*h.head + row*h.row)
}

// attentionJob computes attention. A part of Naive and Chunked is one head of
// one batch; a part of Flash is one tile of its queries.
type attentionJob struct {
	device.AttentionPlan
	q, k, v, o       heads
	probs, lse, work view
	kernel           simd.Product
}

// Attention implements device.Attentions.
func (b *Backend) Attention(p device.AttentionPlan) {
	j := &b.jobs.attention
	*j = b.resolveAttention(p)
	j.work = b.scratchView(p.Work, p.Compute, p.Workspace())
	n := p.AllHeads
	if p.Kind == device.Flash {
		n *= j.queryTiles()
	}
	b.pool.run(j, n)
}

func (b *Backend) resolveAttention(p device.AttentionPlan) attentionJob {
	j := attentionJob{
		AttentionPlan: p, kernel: b.product,
		q: b.resolveHeads(p.Q), k: b.resolveHeads(p.K), v: b.resolveHeads(p.V), o: b.resolveHeads(p.O),
	}
	if p.Kind == device.Naive {
		j.probs = b.resolve(p.Probs)
	} else {
		j.lse = b.resolve(p.LSE)
	}
	return j
}

func (b *Backend) resolveHeads(h device.Heads) heads {
	return heads{b.resolve(h.Array), h.BatchStride, h.HeadStride, h.RowStride}
}

// scratchView resolves that many bytes of scratch as numbers of type d.
func (b *Backend) scratchView(at device.Buffer, d device.DType, bytes int64) view {
	return b.resolve(device.ArrayOf(at, d, int(bytes/d.Size())))
}

func (j *attentionJob) queryTiles() int { return (j.Queries + attendTile - 1) / attendTile }

func (j *attentionJob) run(w *worker, part int) {
	switch wide := j.Wide(); {
	case j.Kind == device.Flash && wide:
		flashPart[float64](w, j, part)
	case j.Kind == device.Flash:
		flashPart[float32](w, j, part)
	case wide:
		attendPart[float64](w, j, part)
	default:
		attendPart[float32](w, j, part)
	}
}

// attendPart computes one head, Chunk queries at a time.
func attendPart[T float](w *worker, j *attentionJob, part int) {
	batch, head := part/j.Heads, part%j.Heads
	for query := 0; query < j.Queries; query += j.Chunk {
		rows := min(j.Chunk, j.Queries-query)
		at := (part*j.Queries + query) * j.Keys
		var scores []T
		if j.Kind == device.Naive {
			scores = room[T](w, slotA, j.probs, at, rows*j.Keys)
		} else {
			scores = slice[T](j.work, part*j.Chunk*j.Keys, rows*j.Keys)
		}
		seen := j.Visible(query + rows - 1)
		j.score(w, viewOf(scores), j.Keys, batch, head, query, rows, 0, seen, 1)
		for r := range rows {
			lse := j.softmaxVisible(viewOf(scores[r*j.Keys:(r+1)*j.Keys]), query+r)
			if j.Kind == device.Chunked {
				j.lse.setNumber(part*j.Queries+query+r, lse)
			}
		}
		probs := viewOf(scores)
		if j.Kind == device.Naive {
			store(j.probs, at, scores)
			probs = j.probs.at(at)
		}
		j.multiply(w, product{
			c: j.o.at(batch, head, query), a: probs, b: j.v.at(batch, head, 0), m: rows, n: j.Dim, k: seen,
			ldc: j.o.row, lda: j.Keys, ldb: j.v.row,
		})
	}
}

// softmaxVisible turns a row of scores, not yet scaled, into probabilities: 0
// for keys that the query does not see. It returns log Σ e^score.
func (j *attentionJob) softmaxVisible(row view, query int) float64 {
	if j.Wide() {
		return softmaxFirst(slice[float64](row, 0, row.n), j.Visible(query), j.Scale)
	}
	return softmaxFirst(slice[float32](row, 0, row.n), j.Visible(query), j.Scale)
}

func softmaxFirst[T float](x []T, n int, scale float64) float64 {
	if n == 0 {
		clear(x)
		return math.Inf(-1)
	}
	x = visible(x, n)
	return float64(softmaxRow(x, x, T(scale)))
}

// score sets c to alpha·Q·Kᵀ for a range of queries and of keys.
func (j *attentionJob) score(w *worker, c view, stride, batch, head, query, rows, key, cols int, alpha float64) {
	j.multiply(w, product{
		c: c, a: j.q.at(batch, head, query), b: j.k.at(batch, head, key), m: rows, n: cols, k: j.Dim,
		ldc: stride, lda: j.q.row, ldb: j.k.row, transB: true, alpha: alpha,
	})
}

// multiply computes a small product on this worker.
func (j *attentionJob) multiply(w *worker, g product) {
	if g.alpha == 0 {
		g.alpha = 1
	}
	if j.Wide() {
		multiplyWide(w, &g, 0, g.m)
		return
	}
	multiplyAlone(w, g, j.kernel)
}
