package nn

import (
	"fmt"
	"math"

	"github.com/memtop/memtop/engine/autograd"
)

// GPTConfig holds the sizes of a GPT. Each size is at least 1.
type GPTConfig struct {
	Layers, Dim, Heads int
	Context            int // most tokens in a row
	Vocab              int
	// Dropout is the probability after the embeddings and on every branch.
	Dropout float64
	Bias    bool // biases in linear layers, as GPT-2 has
}

// GPT is a decoder like GPT-2. It has token and position embeddings, blocks that
// normalise before attention and MLP, a last normalisation, and a head that
// shares its weight with the token embedding.
type GPT struct {
	Tokens, Positions *Embedding
	Drop              *Dropout
	Blocks            *Blocks
	Norm              *LayerNorm
	Head              *Linear
	config            GPTConfig
}

// NewGPT makes a GPT as GPT-2 initialises it: weights normal with deviation
// 0.02, projections into the residual stream 0.02/√(2·layers), biases 0. It
// panics when the width is no multiple of the heads.
func NewGPT(b Builder, g GPTConfig) *GPT {
	if g.Heads < 1 || g.Dim%g.Heads != 0 {
		panic(fmt.Sprintf("nn: width %d in %d heads", g.Dim, g.Heads))
	}
	m := &GPT{
		Tokens:    NewEmbedding(b.In("wte"), g.Vocab, g.Dim, 0.02),
		Positions: NewEmbedding(b.In("wpe"), g.Context, g.Dim, 0.02),
		Drop:      &Dropout{P: g.Dropout},
		config:    g,
	}
	blocks := make([]Module, g.Layers)
	for i := range blocks {
		blocks[i] = newBlock(b.In("h").In(fmt.Sprint(i)), g)
	}
	m.Blocks = NewBlocks(blocks...)
	m.Norm = NewLayerNorm(b.In("ln_f"), g.Dim).For("linear")
	m.Head = &Linear{Weight: m.Tokens.Weight, Classes: true}
	return m
}

// Params returns nothing: the parameters are the children's.
func (m *GPT) Params() []*Param { return nil }

// Children returns the parts in the order in which they run, under GPT-2's
// names.
func (m *GPT) Children() []Child {
	return []Child{
		{"wte", m.Tokens},
		{"wpe", m.Positions},
		{"drop", m.Drop},
		{"h", m.Blocks},
		{"ln_f", m.Norm},
		{"lm_head", m.Head},
	}
}

// Forward takes token numbers, [Batch, Rows], and returns logits,
// [Batch, Rows, Vocab].
func (m *GPT) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	ids := one(m, in)
	if s := ids.Shape(); len(s) != 2 || s[1] > m.config.Context {
		panic(fmt.Sprintf("nn: GPT with a context of %d on tokens of shape %v", m.config.Context, s))
	}
	x := c.Frame(func() *autograd.Value { return m.embed(c, ids) })
	for _, part := range []Module{m.Drop, m.Blocks, m.Norm, m.Head} {
		x = c.CallLast(part, x)
	}
	return x
}

// embed adds the embeddings of tokens and positions. The positions are always
// the first rows of their table, so nothing is looked up.
func (m *GPT) embed(c *Ctx, ids *autograd.Value) *autograd.Value {
	tokens := c.Call(m.Tokens, ids)
	positions := c.Narrow(m.Positions.Weight.Value(), 0, 0, ids.Shape()[1])
	return c.AddAs(c.Residual.of(tokens.DType()), tokens, positions)
}

// Block is one layer of a GPT: x + attention(norm(x)), then x + mlp(norm(x)).
type Block struct {
	Norm1, Norm2 *LayerNorm
	Attention    *MultiHeadAttention
	MLP          *Sequential
	drop         *Dropout
}

func newBlock(b Builder, g GPTConfig) *Block {
	residual := 0.02 / math.Sqrt(2*float64(g.Layers))
	return &Block{
		Norm1: NewLayerNorm(b.In("ln_1"), g.Dim).For("linear"),
		Norm2: NewLayerNorm(b.In("ln_2"), g.Dim).For("linear"),
		Attention: &MultiHeadAttention{
			QKV:   NewLinearNormal(b.In("attn.qkv"), g.Dim, 3*g.Dim, g.Bias, 0.02),
			Proj:  NewLinearNormal(b.In("attn.proj"), g.Dim, g.Dim, g.Bias, residual),
			Heads: g.Heads, Causal: true,
		},
		MLP: &Sequential{modules: []Child{
			{"fc", NewLinearNormal(b.In("mlp.fc"), g.Dim, 4*g.Dim, g.Bias, 0.02)},
			{"gelu", &GELU{Tanh: true}},
			{"proj", NewLinearNormal(b.In("mlp.proj"), 4*g.Dim, g.Dim, g.Bias, residual)},
		}},
		drop: &Dropout{P: g.Dropout},
	}
}

// Params returns nothing: the parameters are the children's.
func (k *Block) Params() []*Param { return nil }

// Children returns the parts in the order in which they run.
func (k *Block) Children() []Child {
	return []Child{
		{"ln_1", k.Norm1}, {"attn", k.Attention}, {"ln_2", k.Norm2}, {"mlp", k.MLP}, {"drop", k.drop},
	}
}

// Forward takes and returns [Batch, Rows, Width].
func (k *Block) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	x := one(k, in)
	y := branch(c, x, k.Norm1, k.Attention, k.drop)
	z := branch(c, y, k.Norm2, k.MLP, k.drop)
	c.Done(y)
	return z
}
