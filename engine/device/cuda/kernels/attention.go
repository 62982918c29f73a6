package kernels

import (
	"fmt"
	"math"

	"memtop/engine/device"
)

// attentionArgs is what the kernels of flash take.
type attentionArgs struct {
	Q, K, V, O, DO, DQ, DK, DV device.Heads
	LSE, Delta                 device.Array
	Heads, Queries, Keys, Dim  int64
	Scale                      float64
	Causal, Tile               int32
}

// attention is a checked device.Attention with zeros filled in.
type attention struct {
	device.Attention
	wide    bool
	compute device.DType
	heads   int // of all the batch
}

func newAttention(name string, a device.Attention) attention {
	needFloat(name, a.Q.DType, a.K.DType, a.V.DType, a.O.DType)
	if a.Kind > device.Flash || a.Dim <= 0 || a.Keys <= 0 {
		panic(fmt.Sprintf("kernels: %s: %v with %d keys of %d elements", name, a.Kind, a.Keys, a.Dim))
	}
	x := attention{Attention: completeAttention(a), wide: attendsWide(a), heads: a.Batch * a.Heads}
	x.compute = computeType(x.wide)
	x.reach(name, "Q", a.Q, a.Queries)
	x.reach(name, "K", a.K, a.Keys)
	x.reach(name, "V", a.V, a.Keys)
	x.reach(name, "O", a.O, a.Queries)
	if a.Kind == device.Naive {
		needFloat(name, a.Probs.DType)
		need(name, "probs", a.Probs, x.heads*a.Queries*a.Keys)
		return x
	}
	if a.LSE.DType != x.compute {
		panic(fmt.Sprintf("kernels: %s: lse of %v, want %v", name, a.LSE.DType, x.compute))
	}
	need(name, "lse", a.LSE, x.heads*a.Queries)
	return x
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

// defaultChunk is the queries that Chunked takes at once.
const defaultChunk = 64

func attendsWide(a device.Attention) bool {
	return inFloat64(a.Q.DType, a.K.DType, a.V.DType, a.O.DType)
}

// reach panics unless h has rows rows in every head.
func (x *attention) reach(name, operand string, h device.Heads, rows int) {
	needFloat(name, h.DType)
	if x.heads*rows > 0 {
		reach(name, operand, h.Array, (x.Batch-1)*h.BatchStride+(x.Heads-1)*h.HeadStride+(rows-1)*h.RowStride+x.Dim)
	}
}

// visible returns how many keys a query sees.
func (x *attention) visible(query int) int {
	if !x.Causal {
		return x.Keys
	}
	return max(0, min(x.Keys, query+1+x.Keys-x.Queries))
}

// args returns what the kernels of flash take.
func (x *attention) args() attentionArgs {
	return attentionArgs{
		Q: x.Q, K: x.K, V: x.V, O: x.O, LSE: x.LSE, Heads: int64(x.Heads), Queries: int64(x.Queries), Keys: int64(x.Keys),
		Dim: int64(x.Dim), Scale: x.Scale, Causal: flag(x.Causal),
	}
}

// Attention implements device.Attentions.
func (c *Compute) Attention(a device.Attention) {
	x := newAttention("attention", a)
	if x.heads*x.Queries == 0 {
		return
	}
	switch a.Kind {
	case device.Naive:
		c.naive(&x)
	case device.Chunked:
		c.chunked(&x)
	default:
		c.flash(&x)
	}
}

// AttentionBackward implements device.Attentions.
func (c *Compute) AttentionBackward(g device.AttentionBackward) {
	const name = "attention backward"
	x := newAttention(name, g.A)
	x.reach(name, "dO", g.DO, x.Queries)
	x.reach(name, "dQ", g.DQ, x.Queries)
	x.reach(name, "dK", g.DK, x.Keys)
	x.reach(name, "dV", g.DV, x.Keys)
	if x.wide != inFloat64(g.DO.DType, g.DQ.DType, g.DK.DType, g.DV.DType) {
		panic("kernels: attention backward: float64 goes with float64 only")
	}
	if x.heads == 0 {
		return
	}
	switch x.Kind {
	case device.Naive:
		c.naiveBackward(&x, g)
	case device.Chunked:
		c.chunkedBackward(&x, g)
	default:
		c.flashBackward(&x, g)
	}
}

// AttentionWorkspace implements device.Attentions. The CPU backend takes as
// much, so that a program's memory is the same on both.
func (c *Compute) AttentionWorkspace(a device.Attention) int64 {
	if a.Kind != device.Chunked {
		return 0
	}
	a = completeAttention(a)
	return int64(a.Batch*a.Heads*a.Chunk*a.Keys) * computeType(attendsWide(a)).Size()
}

// AttentionBackwardWorkspace implements device.Attentions: as much as the CPU
// backend takes.
func (c *Compute) AttentionBackwardWorkspace(a device.Attention) int64 {
	a = completeAttention(a)
	n := a.Queries + a.Queries*a.Dim
	switch a.Kind {
	case device.Naive:
		n = a.Queries * a.Keys
	case device.Chunked:
		n = a.Queries + 2*a.Chunk*a.Keys + 2*a.Keys*a.Dim
	default:
	}
	return int64(a.Batch*a.Heads*n) * computeType(attendsWide(a)).Size()
}

// matrices is a matrix in every head: rows of a device.Heads, or of scratch.
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

// lying returns matrices of step elements, one behind the other, with rows of
// stride elements.
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
		p.count = x.heads
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
