package cpu

import (
	"fmt"
	"math"

	"memtop/engine/device"
	"memtop/engine/device/cpu/simd"
)

// attendTile is the rows and columns of a tile of scores in Flash.
const attendTile = 64

// defaultChunk is the queries that Chunked, and Naive inside, take at once.
const defaultChunk = 64

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
	device.Attention
	q, k, v, o       heads
	probs, lse, work view
	kernel           simd.Product
	wide             bool
}

// Attention implements device.Attentions.
func (b *Backend) Attention(a device.Attention) {
	j := &b.jobs.attention
	*j = b.resolveAttention("attention", a)
	j.work = b.scratchView("attention", a.Work, computeType(j.wide), int(b.AttentionWorkspace(a)/computeType(j.wide).Size()))
	n := a.Batch * a.Heads
	if a.Kind == device.Flash {
		n *= j.queryTiles()
	}
	b.pool.run(j, n)
}

func (b *Backend) resolveAttention(name string, a device.Attention) attentionJob {
	requireFloat(name, a.Q.DType, a.K.DType, a.V.DType, a.O.DType)
	if a.Kind > device.Flash || a.Dim <= 0 || a.Keys <= 0 {
		panic(fmt.Sprintf("cpu: %s: %v with %d keys of %d elements", name, a.Kind, a.Keys, a.Dim))
	}
	a = completeAttention(a)
	j := attentionJob{Attention: a, kernel: b.product, wide: attendsWide(a)}
	j.q = b.resolveHeads(name, "Q", a, a.Q, a.Queries)
	j.k = b.resolveHeads(name, "K", a, a.K, a.Keys)
	j.v = b.resolveHeads(name, "V", a, a.V, a.Keys)
	j.o = b.resolveHeads(name, "O", a, a.O, a.Queries)
	if a.Kind == device.Naive {
		requireFloat(name, a.Probs.DType)
		j.probs = b.view(name, "probs", a.Probs, a.Batch*a.Heads*a.Queries*a.Keys)
		return j
	}
	if a.LSE.DType != computeType(j.wide) {
		panic(fmt.Sprintf("cpu: %s: lse of %v, want %v", name, a.LSE.DType, computeType(j.wide)))
	}
	j.lse = b.view(name, "lse", a.LSE, a.Batch*a.Heads*a.Queries)
	return j
}

func completeAttention(a device.Attention) device.Attention {
	if a.Scale == 0 {
		a.Scale = 1 / math.Sqrt(float64(a.Dim))
	}
	if a.Chunk <= 0 {
		a.Chunk = defaultChunk
	}
	a.Chunk = min(a.Chunk, max(a.Queries, 1))
	return a
}

func attendsWide(a device.Attention) bool {
	return inFloat64(a.Q.DType, a.K.DType, a.V.DType, a.O.DType)
}

func (b *Backend) resolveHeads(name, operand string, a device.Attention, h device.Heads, rows int) heads {
	requireFloat(name, h.DType)
	last := (a.Batch-1)*h.BatchStride + (a.Heads-1)*h.HeadStride + (rows-1)*h.RowStride + a.Dim
	if a.Batch*a.Heads*rows == 0 {
		last = 0
	}
	return heads{b.prefix(name, operand, h.Array, last), h.BatchStride, h.HeadStride, h.RowStride}
}

// AttentionWorkspace implements device.Attentions.
func (b *Backend) AttentionWorkspace(a device.Attention) int64 {
	if a.Kind != device.Chunked {
		return 0
	}
	a = completeAttention(a)
	return int64(a.Batch*a.Heads*a.Chunk*a.Keys) * computeType(attendsWide(a)).Size()
}

func (j *attentionJob) queryTiles() int { return (j.Queries + attendTile - 1) / attendTile }

// visible returns how many keys a query sees.
func (j *attentionJob) visible(query int) int {
	if !j.Causal {
		return j.Keys
	}
	return max(0, min(j.Keys, query+1+j.Keys-j.Queries))
}

func (j *attentionJob) run(w *worker, part int) {
	switch {
	case j.Kind == device.Flash && j.wide:
		flashPart[float64](w, j, part)
	case j.Kind == device.Flash:
		flashPart[float32](w, j, part)
	case j.wide:
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
		seen := j.visible(query + rows - 1)
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
	if j.wide {
		return softmaxFirst(slice[float64](row, 0, row.n), j.visible(query), j.Scale)
	}
	return softmaxFirst(slice[float32](row, 0, row.n), j.visible(query), j.Scale)
}

func softmaxFirst[T float](x []T, n int, scale float64) float64 {
	clear(x[n:])
	if n == 0 {
		return math.Inf(-1)
	}
	return float64(softmaxRow(x[:n], x[:n], T(scale)))
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
	if j.wide {
		multiplyWide(w, &g, 0, g.m)
		return
	}
	multiplyAlone(w, g, j.kernel)
}
