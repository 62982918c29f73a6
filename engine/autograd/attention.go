package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// AttentionOptions say how attention is computed.
type AttentionOptions struct {
	Kind   device.AttentionKind
	Heads  int
	Causal bool
	Scale  float64 // 0 means 1/√(width of a head)
	Chunk  int     // queries at a time in the chunked kind; 0 means 64
}

// AttentionPacked is self-attention on the output of one projection. qkv is
// [Batch, Rows, 3·Width]: queries, keys and values side by side, each with its
// heads side by side. The result is [Batch, Rows, Width]. AttentionPacked saves
// qkv and, depending on the kind, the result with one number per query and head,
// or the probabilities, [Batch, Heads, Rows, Rows].
func (t *Tape) AttentionPacked(qkv *Value, o AttentionOptions) *Value {
	s := qkv.Shape()
	if len(s) != 3 || o.Heads < 1 || s[2]%(3*o.Heads) != 0 {
		panic(fmt.Sprintf("autograd: attention of shape %v with %d heads", s, o.Heads))
	}
	width := s[2] / 3
	a := device.Attention{
		Kind: o.Kind, Batch: s[0], Heads: o.Heads, Queries: s[1], Keys: s[1], Dim: width / o.Heads,
		Causal: o.Causal, Scale: o.Scale, Chunk: o.Chunk,
	}
	c := t.begin("attention", qkv)
	defer c.end()
	c.contiguous(0)
	return c.attend(a, tensor.Shape{s[0], s[1], width}, func(list []*tensor.Tensor) (q, k, v device.Heads) {
		return packed(list[0], a, 0), packed(list[0], a, 1), packed(list[0], a, 2)
	})
}

// Attention is attention between separate operands: q is [Batch, Queries,
// Width], k and v are [Batch, Keys, Width], each with its heads side by side.
func (t *Tape) Attention(q, k, v *Value, o AttentionOptions) *Value {
	s, keys := q.Shape(), k.Shape()
	if len(s) != 3 || o.Heads < 1 || s[2]%o.Heads != 0 || len(keys) != 3 || keys[0] != s[0] || keys[2] != s[2] {
		panic(fmt.Sprintf("autograd: attention of shapes %v and %v with %d heads", s, keys, o.Heads))
	}
	sameShape("attention", k, v)
	a := device.Attention{
		Kind: o.Kind, Batch: s[0], Heads: o.Heads, Queries: s[1], Keys: keys[1], Dim: s[2] / o.Heads,
		Causal: o.Causal, Scale: o.Scale, Chunk: o.Chunk,
	}
	c := t.begin("attention", q, k, v)
	defer c.end()
	c.contiguous(0, 1, 2)
	return c.attend(a, s, func(list []*tensor.Tensor) (q, k, v device.Heads) {
		return plain(list[0], a), plain(list[1], a), plain(list[2], a)
	})
}

// operands finds queries, keys and values in the tensors of the operands, or
// their gradients in those of the operands' gradients.
type operands func(list []*tensor.Tensor) (q, k, v device.Heads)

func (c *call) attend(a device.Attention, shape tensor.Shape, find operands) *Value {
	var list []*tensor.Tensor
	for _, v := range c.in {
		list = append(list, v.data)
	}
	inputs := len(list)
	dtype := list[0].DType()
	o := c.out(shape, dtype)
	list = append(list, c.statistics(a, dtype))
	c.run(func() {
		on := attentionOn(a, list, o, find)
		on.Work = c.scratch(on.Workspace())
		c.backend().Attention(on.Plan())
	})
	if a.Kind != device.Naive {
		list = append(list, o)
	}
	return c.value(o, list, func(b *back) { b.attend(a, inputs, find) })
}

// attentionOn adds the tensors to a: list holds the operands and then the tensors
// that the kind keeps; the result follows.
func attentionOn(a device.Attention, list []*tensor.Tensor, o *tensor.Tensor, find operands) device.Attention {
	a.Q, a.K, a.V = find(list)
	a.O = plain(o, a)
	stats := list[len(list)-1].Array()
	if a.Kind == device.Naive {
		a.Probs = stats
	} else {
		a.LSE = stats
	}
	return a
}

func (b *back) attend(a device.Attention, inputs int, find operands) {
	list := make([]*tensor.Tensor, len(b.node.saved))
	for i := range list {
		list[i] = b.saved(i)
	}
	o := b.dy // the naive kind does not read the result, but a device wants to know its layout
	if a.Kind != device.Naive {
		o = list[inputs+1]
	}
	grads := make([]*tensor.Tensor, inputs)
	for i := range grads {
		grads[i] = b.gradLike(list[i])
	}
	r := device.AttentionBackward{A: attentionOn(a, list[:inputs+1], o, find), DO: plain(b.dy, a)}
	r.DQ, r.DK, r.DV = find(grads)
	r.Work = b.scratch(r.A.BackwardWorkspace())
	b.backend().AttentionBackward(r.Plan())
	b.giveAll(grads)
}

// packed finds queries (0), keys (1) or values (2) in the output of one
// projection.
func packed(x *tensor.Tensor, a device.Attention, part int) device.Heads {
	width := a.Heads * a.Dim
	all := x.Array()
	return device.Heads{
		Array:       all.Slice(part*width, all.Len-part*width),
		BatchStride: a.Queries * 3 * width, HeadStride: a.Dim, RowStride: 3 * width,
	}
}

// plain describes [Batch, Rows, Heads·Dim].
func plain(x *tensor.Tensor, a device.Attention) device.Heads {
	width := a.Heads * a.Dim
	return device.Heads{Array: x.Array(), BatchStride: x.Shape()[1] * width, HeadStride: a.Dim, RowStride: width}
}

// statistics returns the tensors that the kind of attention keeps for its rule.
func (c *call) statistics(a device.Attention, dtype device.DType) *tensor.Tensor {
	if a.Kind == device.Naive {
		return c.result(tensor.Shape{a.Batch, a.Heads, a.Queries, a.Keys}, dtype, "softmax probs")
	}
	return c.result(tensor.Shape{a.Batch, a.Heads, a.Queries}, statistics(dtype), "log sum exp")
}
