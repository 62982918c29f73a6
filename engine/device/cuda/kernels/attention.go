package kernels

import "github.com/memtop/memtop/engine/device"

// attentionArgs is the argument of the kernels of flash.
type attentionArgs struct {
	Q, K, V, O, DO, DQ, DK, DV device.Heads
	LSE, Delta, Sums, Turns    device.Array
	Heads, Queries, Keys, Dim  int64
	Scale                      float64
	Causal, Tile               int32
}

// attention is the running operation.
type attention struct{ device.AttentionPlan }

// args returns the argument of the kernels of flash.
func (x *attention) args() attentionArgs {
	return attentionArgs{
		Q: x.Q, K: x.K, V: x.V, O: x.O, LSE: x.LSE, Heads: int64(x.Heads), Queries: int64(x.Queries), Keys: int64(x.Keys),
		Dim: int64(x.Dim), Scale: x.Scale, Causal: flag(x.Causal),
	}
}

// Attention implements device.Attentions.
func (c *Compute) Attention(p device.AttentionPlan) {
	x := attention{p}
	x.checkTypes("attention")
	if x.AllHeads*x.Queries == 0 {
		return
	}
	switch x.Kind {
	case device.Naive:
		c.naive(&x)
	case device.Chunked:
		c.chunked(&x)
	default:
		c.flash(&x)
	}
}

// AttentionBackward implements device.Attentions.
func (c *Compute) AttentionBackward(g device.AttentionBackwardPlan) {
	x := attention{g.AttentionPlan}
	x.checkTypes("attention backward", g.DO, g.DQ, g.DK, g.DV)
	if x.AllHeads == 0 {
		return
	}
	switch x.Kind {
	case device.Naive:
		c.naiveBackward(&x, &g)
	case device.Chunked:
		c.chunkedBackward(&x, &g)
	default:
		c.flashBackward(&x, &g)
	}
}

// checkTypes is checkTypes of all operands; others are those of the backward operation.
func (x *attention) checkTypes(operation string, others ...device.Heads) {
	checkTypes(operation, x.Q.DType, x.K.DType, x.V.DType, x.O.DType, x.Probs.DType)
	for _, h := range others {
		checkTypes(operation, h.DType)
	}
}

// matrices describes a matrix in every head: rows of a device.Heads, or of
// scratch.
type matrices struct {
	at           device.Array
	outer, inner int
	stride       int
}

// of returns the rows of h from first on.
func of(h device.Heads, first int) matrices {
	h.Addr += uint64(int64(first*h.RowStride) * h.DType.Size())
	return matrices{h.Array, h.BatchStride, h.HeadStride, h.RowStride}
}

// lying returns consecutive matrices of step elements, with rows of stride
// elements.
func (x *attention) lying(at device.Array, step, stride int) matrices {
	return matrices{at, x.Heads * step, step, stride}
}

// product computes dst = alpha·op(a)·op(b) + beta·dst in count heads from first
// on; m, n and k are its sizes.
type product struct {
	m, n, k        int
	transA, transB bool
	alpha, beta    float64
	first, count   int
}

func (c *Compute) product(x *attention, dst, a, b matrices, p product) {
	if p.count == 0 {
		p.count = x.AllHeads
	}
	if p.m == 0 || p.n == 0 {
		return
	}
	args := matMulArgs{
		C: dst.at, A: a.at, B: b.at, M: int64(p.m), N: int64(p.n), K: int64(p.k), LDA: int64(a.stride), LDB: int64(b.stride), LDC: int64(dst.stride),
		Inner: int64(x.Heads), OuterA: int64(a.outer), InnerA: int64(a.inner), OuterB: int64(b.outer), InnerB: int64(b.inner),
		OuterC: int64(dst.outer), InnerC: int64(dst.inner), Alpha: p.alpha, Beta: p.beta, TransA: flag(p.transA), TransB: flag(p.transB), Activation: -1,
	}
	c.multiplyFrom(args, p.first, p.count)
}
