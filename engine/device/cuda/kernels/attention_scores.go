package kernels

import "github.com/memtop/memtop/engine/device"

// scoresArgs is the argument of the kernels on rows of scores.
type scoresArgs struct {
	Scores, Probs, LSE, Delta  device.Array
	ScoresStep, ProbsStep      int64
	Rows, First, Queries, Keys int64
	Scale                      float64
	Causal                     int32
}

func (x *attention) scores(scores, probs device.Array, rows, first int) scoresArgs {
	return scoresArgs{
		Scores: scores, Probs: probs, Rows: int64(rows), First: int64(first), Queries: int64(x.Queries), Keys: int64(x.Keys),
		Scale: x.Scale, Causal: flag(x.Causal),
	}
}

// naive computes the scores. If the kept probabilities have a smaller type, it
// computes them in bands that fit into scratch, so that they are rounded only
// once.
func (c *Compute) naive(x *attention) {
	size := x.Queries * x.Keys
	inPlace := x.Probs.DType == x.Compute
	heads, rows := x.AllHeads, x.Queries
	if !inPlace {
		most := int(c.band / x.Compute.Size())
		heads = min(heads, max(1, most/size))
		rows = min(rows, max(1, most/x.Keys))
	}
	for head := 0; head < x.AllHeads; head += heads {
		count := min(heads, x.AllHeads-head)
		for row := 0; row < x.Queries; row += rows {
			n := min(rows, x.Queries-row)
			probs := x.Probs.Slice((head*x.Queries+row)*x.Keys, ((count-1)*x.Queries+n)*x.Keys)
			scores, step := probs, size
			if !inPlace {
				step = n * x.Keys
				scores = c.scratchArray(x.Compute, 0, count*step)
			}
			// The product begins with matrix number head, and scratch begins with
			// that matrix.
			before := scores
			before.Addr -= uint64(int64(head*step) * x.Compute.Size())
			c.product(x, x.lying(before, step, x.Keys), of(x.Q, row), of(x.K, 0), product{m: n, n: x.Keys, k: x.Dim, transB: true, first: head, count: count})
			a := x.scores(scores, probs, n, row)
			a.ScoresStep, a.ProbsStep = int64(step), int64(size)
			c.onRows(x, ScoreSoftmax, a, count*n)
		}
	}
	c.product(x, of(x.O, 0), x.lying(x.Probs, size, x.Keys), of(x.V, 0), product{m: x.Queries, n: x.Dim, k: x.Keys})
}

// onRows launches a kernel on rows of scores.
func (c *Compute) onRows(x *attention, k Kernel, a scoresArgs, rows int) {
	launch(c, k, line(rows), rowThreads(x.Keys), 0, a)
}

func (c *Compute) naiveBackward(x *attention, g *device.AttentionBackwardPlan) {
	size := x.Queries * x.Keys
	ds := device.ArrayOf(g.Work, x.Compute, x.AllHeads*size)
	probs, grads := x.lying(x.Probs, size, x.Keys), x.lying(ds, size, x.Keys)
	c.product(x, grads, of(g.DO, 0), of(x.V, 0), product{m: x.Queries, n: x.Keys, k: x.Dim, transB: true})
	launch(c, SoftmaxBackward, line(x.AllHeads*x.Queries), rowThreads(x.Keys), 0, softmaxArgs{Y: x.Probs, DY: ds, DX: ds, Cols: int64(x.Keys)})
	c.product(x, of(g.DV, 0), probs, of(g.DO, 0), product{m: x.Keys, n: x.Dim, k: x.Queries, transA: true})
	c.product(x, of(g.DQ, 0), grads, of(x.K, 0), product{m: x.Queries, n: x.Dim, k: x.Keys, alpha: x.Scale})
	c.product(x, of(g.DK, 0), grads, of(x.Q, 0), product{m: x.Keys, n: x.Dim, k: x.Queries, transA: true, alpha: x.Scale})
}

func (c *Compute) chunked(x *attention) {
	size := x.Chunk * x.Keys
	work := device.ArrayOf(x.Work, x.Compute, x.AllHeads*size)
	scores := x.lying(work, size, x.Keys)
	for query := 0; query < x.Queries; query += x.Chunk {
		rows := min(x.Chunk, x.Queries-query)
		seen := x.Visible(query + rows - 1)
		c.product(x, scores, of(x.Q, query), of(x.K, 0), product{m: rows, n: seen, k: x.Dim, transB: true})
		a := x.scores(work, work, rows, query)
		a.ScoresStep, a.ProbsStep, a.LSE = int64(size), int64(size), x.LSE
		c.onRows(x, ScoreSoftmax, a, x.AllHeads*rows)
		c.product(x, of(x.O, query), scores, of(x.V, 0), product{m: rows, n: x.Dim, k: seen})
	}
}

// chunkedBackward makes the probabilities of a chunk again, and adds up dK and
// dV in the type of computation.
func (c *Compute) chunkedBackward(x *attention, g *device.AttentionBackwardPlan) {
	size, keys := x.Chunk*x.Keys, x.Keys*x.Dim
	work := device.ArrayOf(g.Work, x.Compute, x.AllHeads*(x.Queries+2*size+2*keys))
	take := func(n int) device.Array {
		part := work.Slice(0, x.AllHeads*n)
		work = work.Slice(x.AllHeads*n, work.Len-x.AllHeads*n)
		return part
	}
	// Arrays that are read four elements at a time come first.
	p, ds, dk, dv, delta := take(size), take(size), take(keys), take(keys), take(x.Queries)
	c.delta(x, g, delta)
	c.Fill(dk, 0)
	c.Fill(dv, 0)
	probs, grads := x.lying(p, size, x.Keys), x.lying(ds, size, x.Keys)
	for query := 0; query < x.Queries; query += x.Chunk {
		rows := min(x.Chunk, x.Queries-query)
		seen := x.Visible(query + rows - 1)
		c.product(x, probs, of(x.Q, query), of(x.K, 0), product{m: rows, n: seen, k: x.Dim, transB: true})
		c.product(x, grads, of(g.DO, query), of(x.V, 0), product{m: rows, n: seen, k: x.Dim, transB: true})
		a := x.scores(p, ds, rows, query)
		a.ScoresStep, a.ProbsStep, a.LSE, a.Delta = int64(size), int64(size), x.LSE, delta
		c.onRows(x, ScoreBackward, a, x.AllHeads*rows)
		c.product(x, x.lying(dv, keys, x.Dim), probs, of(g.DO, query), product{m: seen, n: x.Dim, k: rows, transA: true, beta: 1})
		c.product(x, x.lying(dk, keys, x.Dim), grads, of(x.Q, query), product{m: seen, n: x.Dim, k: rows, transA: true, beta: 1, alpha: x.Scale})
		c.product(x, of(g.DQ, query), grads, of(x.K, 0), product{m: rows, n: x.Dim, k: seen, alpha: x.Scale})
	}
	c.storeHeads(x, g.DK, dk)
	c.storeHeads(x, g.DV, dv)
}

// delta sets one number per query to Σ dO·O.
func (c *Compute) delta(x *attention, g *device.AttentionBackwardPlan, delta device.Array) {
	a := x.args()
	a.DO, a.Delta = g.DO, delta
	c.launchDelta(x, a)
}

// deltaLanes is how many threads AttentionDelta has for a query.
const deltaLanes = 16

// launchDelta sets a.Delta, and a.Turns to 0.
func (c *Compute) launchDelta(x *attention, a attentionArgs) {
	blocks := max(ceil(x.AllHeads*x.Queries*deltaLanes, blockThreads), min(a.Turns.Len, 1))
	launch(c, AttentionDelta, line(blocks), blockThreads, 0, a)
}

type storeHeadsArgs struct {
	Src              device.Array
	Dst              device.Heads
	Heads, Rows, Dim int64
}

// storeHeads copies the keys' rows, which are contiguous in src, to heads.
func (c *Compute) storeHeads(x *attention, dst device.Heads, src device.Array) {
	launch(c, StoreHeads, line(x.AllHeads*x.Keys), rowThreads(x.Dim), 0, storeHeadsArgs{
		src, dst, int64(x.Heads), int64(x.Keys), int64(x.Dim),
	})
}
