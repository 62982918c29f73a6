package kernels_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

var attentions = map[string]device.Attention{
	"one query and key":             {Batch: 1, Heads: 1, Queries: 1, Keys: 1, Dim: 1},
	"small":                         {Batch: 2, Heads: 3, Queries: 7, Keys: 7, Dim: 5, Causal: true},
	"several tiles":                 {Batch: 1, Heads: 2, Queries: 70, Keys: 70, Dim: 64, Causal: true},
	"several tiles, all see":        {Batch: 2, Heads: 1, Queries: 35, Keys: 131, Dim: 16},
	"more keys than queries":        {Batch: 1, Heads: 2, Queries: 66, Keys: 140, Dim: 8, Causal: true},
	"queries that see none":         {Batch: 1, Heads: 1, Queries: 90, Keys: 40, Dim: 3, Causal: true},
	"chunks that do not fit":        {Batch: 1, Heads: 2, Queries: 23, Keys: 23, Dim: 4, Causal: true, Chunk: 10},
	"large heads":                   {Batch: 1, Heads: 2, Queries: 65, Keys: 67, Dim: 128, Causal: true},
	"heads of an odd, large size":   {Batch: 1, Heads: 1, Queries: 19, Keys: 40, Dim: 77, Scale: 0.3},
	"many keys, seen by few":        {Batch: 1, Heads: 1, Queries: 3, Keys: 1200, Dim: 8},
	"rows of fours":                 {Batch: 1, Heads: 2, Queries: 12, Keys: 24, Dim: 8, Causal: true},
	"rows too long for eight":       {Batch: 1, Heads: 1, Queries: 5, Keys: 9, Dim: 720},
	"no queries":                    {Batch: 1, Heads: 1, Queries: 0, Keys: 10, Dim: 4},
	"too large for the tensor part": {Batch: 1, Heads: 1, Queries: 9, Keys: 17, Dim: 160, Causal: true},
}

// TestAttention tries all sizes with the kernels of flash, which differ for every
// type. The other kinds are products, which have their own test, and rows of
// scores: these it tries with the small sizes of 16-bit types.
func TestAttention(t *testing.T) {
	r := newRig(t)
	for name, a := range attentions {
		for _, kind := range floats {
			for i, attention := range device.AttentionKinds() {
				a.Kind = attention
				if a.Queries == 0 && a.Kind != device.Flash || a.Dim > 200 && !thorough {
					continue
				}
				half := kind == device.BFloat16 || kind == device.Float16
				if half && (a.Kind != device.Flash && a.Queries > 30 || !slices.Contains(halves(len(name)+i), kind)) {
					continue
				}
				if half && a.Keys > 1000 && !every { // they are many for rows of scores, which are in float32
					continue
				}
				t.Run(fmt.Sprintf("%s, %v, %v", name, kind, a.Kind), func(t *testing.T) {
					r.seed(t.Name())
					r.attend(t, a, kind)
				})
			}
		}
	}
}

// TestFlashGradientsInTurns tries the tensor cores' kernels with several blocks of
// keys, which add to dQ one after the other, and with what is special about their
// inputs. Every case runs with threads in rising and in falling order, and gives
// equal bits.
func TestFlashGradientsInTurns(t *testing.T) {
	r := newRig(t)
	for name, a := range map[string]device.Attention{
		"three blocks of keys":               {Heads: 2, Queries: 300, Keys: 300, Dim: 64, Causal: true},
		"all see all":                        {Heads: 1, Queries: 130, Keys: 260, Dim: 64},
		"more keys than queries":             {Heads: 1, Queries: 70, Keys: 290, Dim: 40, Causal: true},
		"queries that see no key":            {Heads: 1, Queries: 310, Keys: 150, Dim: 64, Causal: true},
		"large heads":                        {Heads: 1, Queries: 133, Keys: 133, Dim: 128, Causal: true},
		"large heads that see all":           {Heads: 1, Queries: 40, Keys: 150, Dim: 128},
		"large heads, queries that see none": {Heads: 1, Queries: 150, Keys: 70, Dim: 128, Causal: true, Scale: -0.2},
		"large heads, no queries":            {Heads: 1, Queries: 0, Keys: 70, Dim: 128},
		"heads between two sizes":            {Heads: 1, Queries: 65, Keys: 130, Dim: 104, Causal: true},
		"rows that begin at any two bytes":   {Heads: 3, Queries: 40, Keys: 40, Dim: 33, Causal: true},
		"a negative scale":                   {Heads: 1, Queries: 70, Keys: 140, Dim: 64, Causal: true, Scale: -0.2},
		"no queries, so keys have gradients": {Heads: 2, Queries: 0, Keys: 140, Dim: 64},
	} {
		for _, kind := range halves(len(name)) {
			t.Run(fmt.Sprintf("%s, %v", name, kind), func(t *testing.T) {
				r.seed(t.Name())
				a.Kind, a.Batch = device.Flash, 1
				r.attend(t, a, kind)
			})
		}
	}
}

// heads returns rows of all heads. If packed is set, queries, keys and values are
// side by side in one array, as a projection writes them.
func heads(a device.Attention, rows int, of device.Array, parts, part int) device.Heads {
	width := a.Heads * a.Dim
	of = of.Slice(part*width, of.Len-part*width)
	return device.Heads{Array: of, BatchStride: rows * parts * width, HeadStride: a.Dim, RowStride: parts * width}
}

func (r *rig) attend(t *testing.T, a device.Attention, kind device.DType) {
	t.Helper()
	width := a.Batch * a.Heads * a.Dim
	a.Q = heads(a, a.Queries, r.normals(kind, a.Queries*width), 1, 0)
	keys := r.normals(kind, 2*a.Keys*width)
	a.K, a.V = heads(a, a.Keys, keys, 2, 0), heads(a, a.Keys, keys, 2, 1)
	do := heads(a, a.Queries, r.normals(kind, a.Queries*width), 1, 0)
	var forward device.Attention // the CPU's, the input of both backward operations
	r.agree(t, 3, func(c computer) {
		a := a
		a.O = heads(a, a.Queries, r.output(kind, a.Queries*width), 1, 0)
		if a.Kind == device.Naive {
			a.Probs = r.output(kind, a.Batch*a.Heads*a.Queries*a.Keys)
		} else {
			a.LSE = r.output(device.Float32, a.Batch*a.Heads*a.Queries)
		}
		a.Work = r.buffer(a.Workspace())
		c.Attention(a.Plan())
		if c == r.cpu {
			forward = a
		}
	})
	r.agree(t, 6, func(c computer) {
		out := func(rows int) device.Heads { return heads(a, rows, r.output(kind, rows*width), 1, 0) }
		c.AttentionBackward(device.AttentionBackward{
			A: forward, DO: do, DQ: out(a.Queries), DK: out(a.Keys), DV: out(a.Keys), Work: r.buffer(forward.BackwardWorkspace()),
		}.Plan())
	})
}

// Probabilities kept in another type than that of computation go through scratch,
// which holds some of the heads at a time, or some of the queries.
func TestNaiveAttentionInBands(t *testing.T) {
	r := newRig(t)
	a := device.Attention{Batch: 2, Heads: 3, Queries: 15, Keys: 13, Dim: 2, Causal: true}
	for name, elements := range map[string]int{"four heads": 15 * 13 * 4, "seven queries": 7 * 13, "less than a query": 3} {
		t.Run(name, func(t *testing.T) {
			r.seed(t.Name())
			r.kernels.SetBand(int64(4*elements), 1)
			r.attendInBands(t, a)
		})
	}
}

func (r *rig) attendInBands(t *testing.T, a device.Attention) {
	t.Helper()
	width := a.Batch * a.Heads * a.Dim
	a.Q = heads(a, a.Queries, r.normals(device.Float32, a.Queries*width), 1, 0)
	a.K = heads(a, a.Keys, r.normals(device.Float32, a.Keys*width), 1, 0)
	a.V = a.K
	r.agree(t, 6, func(c computer) {
		a := a
		a.O = heads(a, a.Queries, r.output(device.Float32, a.Queries*width), 1, 0)
		a.Probs = r.output(device.BFloat16, a.Batch*a.Heads*a.Queries*a.Keys)
		c.Attention(a.Plan())
	})
}
