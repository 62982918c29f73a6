package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

// attentionCase holds the operands of attention with everything in one array
// per operand, [batch, row, head, dim], as a projection leaves them.
type attentionCase struct {
	a device.Attention
	g device.AttentionBackward
}

func newAttentionCase(r *rig, kind device.DType, a device.Attention) attentionCase {
	statistic := device.ComputeType(kind)
	packed := func(rows int, fill func(device.DType, int) device.Array) device.Heads {
		return device.Heads{
			Array:       fill(kind, a.Batch*rows*a.Heads*a.Dim),
			BatchStride: rows * a.Heads * a.Dim, HeadStride: a.Dim, RowStride: a.Heads * a.Dim,
		}
	}
	a.Q, a.K, a.V = packed(a.Queries, r.normals), packed(a.Keys, r.normals), packed(a.Keys, r.normals)
	a.O = packed(a.Queries, r.array)
	a.LSE = r.array(statistic, a.Batch*a.Heads*a.Queries)
	a.Probs = r.array(kind, a.Batch*a.Heads*a.Queries*a.Keys)
	a.Work = r.buffer(a.Workspace())
	g := device.AttentionBackward{
		A: a, DO: packed(a.Queries, r.normals), DQ: packed(a.Queries, r.array), DK: packed(a.Keys, r.array),
		DV: packed(a.Keys, r.array), Work: r.buffer(a.BackwardWorkspace()),
	}
	return attentionCase{a, g}
}

// referenceAttention is the definition, on operands laid out as above.
func referenceAttention(a device.Attention, q, k, v []float64) []float64 {
	out := make([]float64, a.Batch*a.Queries*a.Heads*a.Dim)
	at := func(rows, batch, head, row int) int { return ((batch*rows+row)*a.Heads + head) * a.Dim }
	for batch := range a.Batch {
		for head := range a.Heads {
			for i := range a.Queries {
				seen := a.Keys
				if a.Causal {
					seen = min(a.Keys, i+1+a.Keys-a.Queries)
				}
				if seen <= 0 {
					continue
				}
				scores := make([]float64, seen)
				for j := range scores {
					for d := range a.Dim {
						scores[j] += q[at(a.Queries, batch, head, i)+d] * k[at(a.Keys, batch, head, j)+d] / math.Sqrt(float64(a.Dim))
					}
				}
				for j, p := range referenceSoftmax(scores, 1, seen) {
					for d := range a.Dim {
						out[at(a.Queries, batch, head, i)+d] += p * v[at(a.Keys, batch, head, j)+d]
					}
				}
			}
		}
	}
	return out
}

var attentionSizes = map[string]device.Attention{
	"one query and key":      {Batch: 1, Heads: 1, Queries: 1, Keys: 1, Dim: 1},
	"small":                  {Batch: 2, Heads: 3, Queries: 7, Keys: 7, Dim: 5, Causal: true},
	"several tiles":          {Batch: 1, Heads: 2, Queries: 150, Keys: 150, Dim: 16, Causal: true},
	"several tiles, all see": {Batch: 2, Heads: 1, Queries: 70, Keys: 131, Dim: 8},
	"more keys than queries": {Batch: 1, Heads: 2, Queries: 66, Keys: 140, Dim: 8, Causal: true},
	"queries that see none":  {Batch: 1, Heads: 1, Queries: 9, Keys: 4, Dim: 3, Causal: true},
	"chunks that do not fit": {Batch: 1, Heads: 2, Queries: 23, Keys: 23, Dim: 4, Causal: true, Chunk: 10},
}

var attentionKinds = []device.AttentionKind{device.Naive, device.Chunked, device.Flash}

func TestAttentionAgreesWithTheDefinition(t *testing.T) {
	for name, a := range attentionSizes {
		for _, kind := range floats {
			for _, a.Kind = range attentionKinds {
				t.Run(fmt.Sprintf("%s, %v, %v", name, kind, a.Kind), func(t *testing.T) {
					r := newRig(t, 2)
					c := newAttentionCase(r, kind, a)
					r.Attention(c.a.Plan())
					want := referenceAttention(c.a, r.get(c.a.Q.Array), r.get(c.a.K.Array), r.get(c.a.V.Array))
					near(t, "output", r.get(c.a.O.Array), want, 2*tolerance(kind))
				})
			}
		}
	}
}

func TestAttentionGradientsAgreeWithFiniteDifferences(t *testing.T) {
	for _, name := range []string{"small", "queries that see none", "chunks that do not fit"} {
		a := attentionSizes[name]
		for _, a.Kind = range attentionKinds {
			t.Run(fmt.Sprintf("%s, %v", name, a.Kind), func(t *testing.T) {
				r := newRig(t, 2)
				c := newAttentionCase(r, device.Float64, a)
				r.Attention(c.a.Plan())
				r.AttentionBackward(c.g.Plan())
				q, k, v, do := r.get(c.a.Q.Array), r.get(c.a.K.Array), r.get(c.a.V.Array), r.get(c.g.DO.Array)
				near(t, "dq", r.get(c.g.DQ.Array), numericalGradient(q, do, func(x []float64) []float64 { return referenceAttention(a, x, k, v) }), 1e-7)
				near(t, "dk", r.get(c.g.DK.Array), numericalGradient(k, do, func(x []float64) []float64 { return referenceAttention(a, q, x, v) }), 1e-7)
				near(t, "dv", r.get(c.g.DV.Array), numericalGradient(v, do, func(x []float64) []float64 { return referenceAttention(a, q, k, x) }), 1e-7)
			})
		}
	}
}

func TestAttentionGradientsOfEveryKindAndTypeAgree(t *testing.T) {
	for name, a := range attentionSizes {
		for _, kind := range []device.DType{device.Float32, device.BFloat16, device.Float16} {
			for _, way := range attentionKinds {
				t.Run(fmt.Sprintf("%s, %v, %v", name, kind, way), func(t *testing.T) {
					r := newRig(t, 2)
					a.Kind = way
					low := newAttentionCase(r, kind, a)
					a.Kind = device.Naive
					exact := newAttentionCase(r, device.Float64, a)
					for _, pair := range [][2]device.Heads{{exact.a.Q, low.a.Q}, {exact.a.K, low.a.K}, {exact.a.V, low.a.V}, {exact.g.DO, low.g.DO}} {
						r.set(pair[0].Array, r.get(pair[1].Array))
					}
					for _, c := range []attentionCase{low, exact} {
						r.Attention(c.a.Plan())
						r.AttentionBackward(c.g.Plan())
					}
					allowed := 8 * tolerance(kind)
					near(t, "dq", r.get(low.g.DQ.Array), r.get(exact.g.DQ.Array), allowed)
					near(t, "dk", r.get(low.g.DK.Array), r.get(exact.g.DK.Array), allowed)
					near(t, "dv", r.get(low.g.DV.Array), r.get(exact.g.DV.Array), allowed)
				})
			}
		}
	}
}

func TestFlashNeedsNoScratchThatGrowsWithTheSquareOfTheLength(t *testing.T) {
	bytes := func(n int) int64 {
		a := device.Attention{Kind: device.Flash, Batch: 1, Heads: 1, Queries: n, Keys: n, Dim: 64}
		return a.Workspace() + a.BackwardWorkspace()
	}
	if short, long := bytes(1024), bytes(10240); long != 10*short {
		t.Errorf("1,024 rows take %d bytes, 10,240 take %d", short, long)
	}
}
