package cpu

import "math"

// # Flash attention
//
// A tile of queries goes through the tiles of keys that it sees. For every query
// it keeps the largest score so far, the sum of e^(score − largest), and the
// output with these weights. At a larger score it multiplies sum and output by
// e^(old − new). After Dao et al., "FlashAttention" (NeurIPS 2022). Scores exist
// in tiles of attendTile × attendTile only.

// flashPart computes one tile of queries.
func flashPart[T float](w *worker, j *attentionJob, part int) {
	tiles := j.queryTiles()
	bh, query := part/tiles, part%tiles*attendTile
	batch, head := bh/j.Heads, bh%j.Heads
	rows := min(attendTile, j.Queries-query)
	f := newFlash[T](w, j, rows)
	seen := j.Visible(query + rows - 1)
	for key := 0; key < seen; key += attendTile {
		cols := min(attendTile, seen-key)
		j.score(w, viewOf(f.scores), cols, batch, head, query, rows, key, cols, j.Scale)
		for r := range rows {
			f.absorb(r, cols, max(0, min(cols, j.Visible(query+r)-key)))
		}
		j.multiply(w, product{
			c: viewOf(f.output), a: viewOf(f.scores), b: j.v.at(batch, head, key), m: rows, n: j.Dim, k: cols,
			ldc: j.Dim, lda: cols, ldb: j.v.row, beta: 1,
		})
	}
	for r := range rows {
		out := f.output[r*j.Dim : (r+1)*j.Dim]
		if f.total[r] != 0 { // a query that sees no key gets zeros
			multiplyRow(out, out, T(1/f.total[r]))
		}
		narrow(j.o.at(batch, head, query+r), 0, out)
		j.lse.setNumber(bh*j.Queries+query+r, float64(f.top[r])+math.Log(f.total[r]))
	}
}

// flash is the state of one tile of queries.
type flash[T float] struct {
	scores, output []T
	top            []T
	total          []float64
	dim            int
}

func newFlash[T float](w *worker, j *attentionJob, rows int) flash[T] {
	f := flash[T]{
		scores: scratch[T](w, slotA, rows*attendTile), output: scratch[T](w, slotB, rows*j.Dim),
		top: scratch[T](w, slotC, rows), total: scratch[float64](w, slotD, rows), dim: j.Dim,
	}
	clear(f.output)
	clear(f.total)
	for r := range f.top {
		f.top[r] = T(math.Inf(-1))
	}
	return f
}

// absorb turns the scores of query r, which sees the first seen keys, into
// weights, and updates the kept sum and output.
func (f *flash[T]) absorb(r, cols, seen int) {
	x := f.scores[r*cols : (r+1)*cols]
	if seen == 0 {
		clear(x)
		return
	}
	x = visible(x, seen)
	if top := maximum(x); top > f.top[r] || top != top {
		shrink := exp(f.top[r] - top)
		f.total[r] *= float64(shrink)
		out := f.output[r*f.dim : (r+1)*f.dim]
		multiplyRow(out, out, shrink)
		f.top[r] = top
	}
	f.total[r] += exponentials(x, x, 1, f.top[r])
}
