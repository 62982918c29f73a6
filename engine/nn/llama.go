package nn

import (
	"fmt"

	"github.com/memtop/memtop/engine/autograd"
)

// LlamaConfig holds the sizes of a [Llama]. Each size is at least 1.
type LlamaConfig struct {
	Layers, Dim, Heads int
	KVHeads            int // of keys and values; a divisor of Heads
	Hidden             int // width within the MLP
	Context            int // most tokens in a row
	Vocab              int
	Base               float64 // of the rotation; 0 means 10,000
}

// Llama is the decoder of Touvron et al. 2023. It has RMSNorm before attention
// and MLP, rotated queries and keys in grouped heads, an MLP with a gate, no
// biases, and a head with a weight of its own.
type Llama struct {
	Tokens *Embedding
	Blocks *Blocks
	Norm   *RMSNorm
	Head   *Linear
	config LlamaConfig
}

// llamaStd is the deviation of the first weights.
const llamaStd = 0.02

// NewLlama makes a Llama with normal weights of deviation 0.02. It panics if
// Heads does not divide the width, or KVHeads does not divide Heads.
func NewLlama(b Builder, l LlamaConfig) *Llama {
	if l.Base == 0 {
		l.Base = 10000
	}
	m := &Llama{Tokens: NewEmbedding(b.In("embed_tokens"), l.Vocab, l.Dim, llamaStd), config: l}
	rotary := NewRotary(b.In("rotary_emb"), l.Context, l.Dim/max(l.Heads, 1), l.Base)
	blocks := make([]Module, l.Layers)
	for i := range blocks {
		blocks[i] = newLlamaBlock(b.In("layers").In(fmt.Sprint(i)), l, rotary)
	}
	m.Blocks = NewBlocks(blocks...)
	m.Norm = NewRMSNorm(b.In("norm"), l.Dim).For("linear")
	m.Head = NewLinearNormal(b.In("lm_head"), l.Dim, l.Vocab, false, llamaStd)
	m.Head.Classes = true
	return m
}

// Params returns nothing: the parameters are the children's.
func (m *Llama) Params() []*Param { return nil }

// Children returns the parts in the order in which they run, under the names that
// published weights have.
func (m *Llama) Children() []Child {
	return []Child{{"embed_tokens", m.Tokens}, {"layers", m.Blocks}, {"norm", m.Norm}, {"lm_head", m.Head}}
}

// Forward takes token numbers, [Batch, Rows], and returns logits,
// [Batch, Rows, Vocab].
func (m *Llama) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	ids := one(m, in)
	if s := ids.Shape(); len(s) != 2 || s[1] > m.config.Context {
		panic(fmt.Sprintf("nn: Llama with a context of %d on tokens of shape %v", m.config.Context, s))
	}
	x := c.Frame(func() *autograd.Value {
		tokens := c.Call(m.Tokens, ids)
		return c.Cast(tokens, c.Residual.of(tokens.DType()))
	})
	for _, part := range []Module{m.Blocks, m.Norm, m.Head} {
		x = c.CallLast(part, x)
	}
	return x
}

// LlamaBlock is one layer of a Llama: x + attention(norm(x)), then x + mlp(norm(x)).
type LlamaBlock struct {
	Norm1, Norm2 *RMSNorm
	Attention    *GroupedAttention
	MLP          *GatedMLP
}

func newLlamaBlock(b Builder, l LlamaConfig, r *Rotary) *LlamaBlock {
	return &LlamaBlock{
		Norm1:     NewRMSNorm(b.In("input_layernorm"), l.Dim).For("linear"),
		Attention: NewGroupedAttention(b.In("self_attn"), l.Dim, l.Heads, l.KVHeads, r, llamaStd),
		Norm2:     NewRMSNorm(b.In("post_attention_layernorm"), l.Dim).For("linear"),
		MLP:       NewGatedMLP(b.In("mlp"), l.Dim, l.Hidden, llamaStd),
	}
}

// Params returns nothing: the parameters are the children's.
func (k *LlamaBlock) Params() []*Param { return nil }

// Children returns the parts in the order in which they run.
func (k *LlamaBlock) Children() []Child {
	return []Child{
		{"input_layernorm", k.Norm1}, {"self_attn", k.Attention}, {"post_attention_layernorm", k.Norm2}, {"mlp", k.MLP},
	}
}

// Forward takes and returns [Batch, Rows, Width].
func (k *LlamaBlock) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	x := one(k, in)
	y := branch(c, x, k.Norm1, k.Attention, nil)
	z := branch(c, y, k.Norm2, k.MLP, nil)
	c.Done(y)
	return z
}

// GatedMLP is down(silu(gate(x)) · up(x)), SwiGLU of Shazeer 2020.
type GatedMLP struct {
	Gate, Up, Down *Linear
	act            *SiLU
}

// NewGatedMLP makes projections without biases, with normal weights of the given
// deviation.
func NewGatedMLP(b Builder, width, hidden int, std float64) *GatedMLP {
	return &GatedMLP{
		Gate: NewLinearNormal(b.In("gate_proj"), width, hidden, false, std),
		Up:   NewLinearNormal(b.In("up_proj"), width, hidden, false, std),
		Down: NewLinearNormal(b.In("down_proj"), hidden, width, false, std),
		act:  &SiLU{},
	}
}

// Params returns nothing: the parameters are the projections'.
func (g *GatedMLP) Params() []*Param { return nil }

// Children returns the parts in the order in which they run.
func (g *GatedMLP) Children() []Child {
	return []Child{{"gate_proj", g.Gate}, {"act_fn", g.act}, {"up_proj", g.Up}, {"down_proj", g.Down}}
}

// Forward takes and returns [..., Width].
func (g *GatedMLP) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	x := one(g, in)
	active := chain(c, g.Children()[:2], x)
	up := c.Call(g.Up, x)
	y := c.Mul(active, up)
	c.Done(active)
	c.Done(up)
	return c.Call(g.Down, y)
}
