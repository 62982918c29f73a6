package cpu

import "github.com/memtop/memtop/engine/device"

// gradTile is a range of queries by a range of keys in the backward pass. p holds
// their probabilities and ds the gradients of their scores, both [rows, cols].
type gradTile[T float] struct {
	batch, head int
	query, rows int
	key, cols   int
	p, ds       []T
}

// compute computes the probabilities again from the kept log-sums, and ds =
// p·(dO·Vᵀ − delta) from them and delta, which has one number per query.
func (t *gradTile[T]) compute(w *worker, j *attentionGradJob, delta []T) {
	n := t.rows * t.cols
	j.score(w, viewOf(t.p[:n]), t.cols, t.batch, t.head, t.query, t.rows, t.key, t.cols, j.Scale)
	j.gradOfProbs(w, viewOf(t.ds[:n]), t.cols, t.batch, t.head, t.query, t.rows, t.key, t.cols)
	lse := slice[T](j.lse, (t.batch*j.Heads+t.head)*j.Queries, j.Queries)
	for r := range t.rows {
		p, ds := t.p[r*t.cols:(r+1)*t.cols], t.ds[r*t.cols:(r+1)*t.cols]
		seen := max(0, min(t.cols, j.Visible(t.query+r)-t.key))
		if seen == 0 {
			clear(p)
			clear(ds)
			continue
		}
		x := visible(p, seen)
		exponentials(x, x, 1, lse[t.query+r])
		standardize(ds, ds, delta[t.query+r], 1)
		combine(device.Mul, ds, ds, p)
	}
}

// addKeys adds pᵀ·dO to dv and scale·dsᵀ·Q to dk, the sums of the tile's keys.
func (t *gradTile[T]) addKeys(w *worker, j *attentionGradJob, dk, dv []T) {
	n := t.rows * t.cols
	j.multiply(w, product{
		c: viewOf(dv), a: viewOf(t.p[:n]), b: j.do.at(t.batch, t.head, t.query), m: t.cols, n: j.Dim, k: t.rows,
		ldc: j.Dim, lda: t.cols, ldb: j.do.row, transA: true, beta: 1,
	})
	j.multiply(w, product{
		c: viewOf(dk), a: viewOf(t.ds[:n]), b: j.q.at(t.batch, t.head, t.query), m: t.cols, n: j.Dim, k: t.rows,
		ldc: j.Dim, lda: t.cols, ldb: j.q.row, transA: true, alpha: j.Scale, beta: 1,
	})
}

// queries sets c to scale·ds·K, or adds it when beta is 1.
func (t *gradTile[T]) queries(w *worker, j *attentionGradJob, c view, stride int, beta float64) {
	j.multiply(w, product{
		c: c, a: viewOf(t.ds[:t.rows*t.cols]), b: j.k.at(t.batch, t.head, t.key), m: t.rows, n: j.Dim, k: t.cols,
		ldc: stride, lda: t.cols, ldb: j.k.row, alpha: j.Scale, beta: beta,
	})
}

// outputDots sets delta to the sums of dO·O of every query: Σ p·dp, without p.
func outputDots[T float](w *worker, j *attentionGradJob, batch, head int, delta []T) {
	for r := range delta {
		do := load[T](w, slotA, j.do.at(batch, head, r), 0, j.Dim)
		o := load[T](w, slotB, j.o.at(batch, head, r), 0, j.Dim)
		delta[r] = T(dot(do, o))
	}
}

func chunkedGrad[T float](w *worker, j *attentionGradJob, batch, head int, work []T) {
	delta, work := work[:j.Queries], work[j.Queries:]
	outputDots(w, j, batch, head, delta)
	size, keys := j.Chunk*j.Keys, j.Keys*j.Dim
	t := gradTile[T]{batch: batch, head: head, p: work[:size], ds: work[size : 2*size]}
	dk, dv := work[2*size:2*size+keys], work[2*size+keys:]
	clear(dk)
	clear(dv)
	for t.query = 0; t.query < j.Queries; t.query += j.Chunk {
		t.rows = min(j.Chunk, j.Queries-t.query)
		t.cols = j.Visible(t.query + t.rows - 1)
		t.compute(w, j, delta)
		t.addKeys(w, j, dk, dv)
		t.queries(w, j, j.dq.at(batch, head, t.query), j.dq.row, 0)
	}
	storeRows(j.dk, batch, head, 0, dk, j.Dim)
	storeRows(j.dv, batch, head, 0, dv, j.Dim)
}

// flashGrad goes through the tiles of keys, and for each through the tiles of
// queries that see it.
func flashGrad[T float](w *worker, j *attentionGradJob, batch, head int, work []T) {
	delta, dq := work[:j.Queries], work[j.Queries:][:j.Queries*j.Dim]
	outputDots(w, j, batch, head, delta)
	clear(dq)
	t := gradTile[T]{
		batch: batch, head: head,
		p: scratch[T](w, slotC, attendTile*attendTile), ds: scratch[T](w, slotD, attendTile*attendTile),
	}
	for t.key = 0; t.key < j.Keys; t.key += attendTile {
		t.cols = min(attendTile, j.Keys-t.key)
		dk, dv := scratch[T](w, slotE, t.cols*j.Dim), scratch[T](w, slotF, t.cols*j.Dim)
		clear(dk)
		clear(dv)
		for t.query = 0; t.query < j.Queries; t.query += attendTile {
			t.rows = min(attendTile, j.Queries-t.query)
			if j.Visible(t.query+t.rows-1) <= t.key {
				continue
			}
			t.compute(w, j, delta)
			t.addKeys(w, j, dk, dv)
			t.queries(w, j, viewOf(dq[t.query*j.Dim:(t.query+t.rows)*j.Dim]), j.Dim, 1)
		}
		storeRows(j.dk, batch, head, t.key, dk, j.Dim)
		storeRows(j.dv, batch, head, t.key, dv, j.Dim)
	}
	storeRows(j.dq, batch, head, 0, dq, j.Dim)
}

// storeRows writes contiguous rows to a head from one row on.
func storeRows[T float](h heads, batch, head, row int, x []T, dim int) {
	for r := range len(x) / dim {
		narrow(h.at(batch, head, row+r), 0, x[r*dim:(r+1)*dim])
	}
}
