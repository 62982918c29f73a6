package device

import (
	"fmt"
	"math"
)

// defaultChunk is the default number of queries that Chunked takes at once.
const defaultChunk = 64

// AttentionPlan is a checked Attention in which defaults replace the zeros.
type AttentionPlan struct {
	Attention
	Compute  DType // Float64 when Q, K, V and O are, else Float32
	AllHeads int   // of the whole batch
}

// AttentionBackwardPlan is a checked AttentionBackward.
type AttentionBackwardPlan struct {
	AttentionPlan
	DO, DQ, DK, DV Heads
	Work           Buffer
}

// Plan checks a and fills in defaults. It panics when a is invalid.
func (a Attention) Plan() AttentionPlan {
	p := a.plan("attention")
	checkWork("attention", a.Work, a.Workspace())
	return p
}

func (a Attention) plan(name string) AttentionPlan {
	if a.Kind >= attentionCount || a.Dim <= 0 || a.Keys <= 0 {
		panic(fmt.Sprintf("device: %s: %v with %d keys of %d elements", name, a.Kind, a.Keys, a.Dim))
	}
	p := AttentionPlan{a.completed(), a.compute(), a.Batch * a.Heads}
	p.check(name, "Q", a.Q, a.Queries)
	p.check(name, "K", a.K, a.Keys)
	p.check(name, "V", a.V, a.Keys)
	p.check(name, "O", a.O, a.Queries)
	if a.Kind == Naive {
		CheckFloat(name, a.Probs.DType)
		CheckLen(name, "probs", a.Probs, p.AllHeads*a.Queries*a.Keys)
		return p
	}
	if a.LSE.DType != p.Compute {
		panic(fmt.Sprintf("device: %s: lse of %v, want %v", name, a.LSE.DType, p.Compute))
	}
	CheckLen(name, "lse", a.LSE, p.AllHeads*a.Queries)
	return p
}

// Plan checks g and fills in defaults. It panics when g is invalid.
func (g AttentionBackward) Plan() AttentionBackwardPlan {
	const name = "attention backward"
	p := AttentionBackwardPlan{g.A.plan(name), g.DO, g.DQ, g.DK, g.DV, g.Work}
	p.check(name, "dO", g.DO, p.Queries)
	p.check(name, "dQ", g.DQ, p.Queries)
	p.check(name, "dK", g.DK, p.Keys)
	p.check(name, "dV", g.DV, p.Keys)
	if ComputeType(g.DO.DType, g.DQ.DType, g.DK.DType, g.DV.DType) != p.Compute {
		panic("device: attention backward: float64 goes with float64 only")
	}
	checkWork(name, g.Work, g.A.BackwardWorkspace())
	return p
}

// check panics unless h has rows rows in every head.
func (p *AttentionPlan) check(name, operand string, h Heads, rows int) {
	CheckFloat(name, h.DType)
	if p.AllHeads*rows != 0 {
		CheckReach(name, operand, h.Array, (p.Batch-1)*h.BatchStride+(p.Heads-1)*h.HeadStride+(rows-1)*h.RowStride+p.Dim)
	}
}

// completed returns a with defaults in place of zeros.
func (a Attention) completed() Attention {
	if a.Scale == 0 {
		a.Scale = 1 / math.Sqrt(float64(a.Dim))
	}
	if a.Chunk <= 0 {
		a.Chunk = defaultChunk
	}
	a.Chunk = min(a.Chunk, max(a.Queries, 1))
	return a
}

func (a *Attention) compute() DType {
	return ComputeType(a.Q.DType, a.K.DType, a.V.DType, a.O.DType)
}

// Wide reports whether it is computed in float64.
func (p *AttentionPlan) Wide() bool { return p.Compute == Float64 }

// Visible returns how many keys a query sees.
func (p *AttentionPlan) Visible(query int) int {
	if !p.Causal {
		return p.Keys
	}
	return max(0, min(p.Keys, query+1+p.Keys-p.Queries))
}

// Workspace returns the bytes of scratch that a needs. It uses only the types of
// a's arrays, which may be absent. Every device takes the same amount, so that a
// program's memory is the same on all.
func (a Attention) Workspace() int64 {
	if a.Kind != Chunked {
		return 0
	}
	c := a.completed()
	return int64(a.Batch*a.Heads*c.Chunk*a.Keys) * a.compute().Size()
}

// BackwardWorkspace returns the bytes of scratch that a's gradients need.
func (a Attention) BackwardWorkspace() int64 {
	return int64(a.Batch*a.Heads*a.GradientElements()) * a.compute().Size()
}

// GradientElements returns the elements of BackwardWorkspace for one head. Naive
// has the gradients of scores. The others have one number per query; in addition,
// Chunked has the probabilities and gradients of a chunk and the sums for dK and
// dV, and Flash has the sums for dQ, which a device may hold by 16 rows.
func (a Attention) GradientElements() int {
	switch a.Kind {
	case Naive:
		return a.Queries * a.Keys
	case Chunked:
		return a.Queries + 2*a.completed().Chunk*a.Keys + 2*a.Keys*a.Dim
	default:
		return a.Queries + (a.Queries+15)/16*16*a.Dim
	}
}
