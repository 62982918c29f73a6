package nn

import (
	"fmt"

	"github.com/memtop/memtop/engine/autograd"
)

// GroupedAttention is causal self-attention in which several query heads share
// one head of keys and values (Ainslie et al. 2023). Rotation encodes the
// positions. Keys and values are repeated for the query heads that share them, as
// in PyTorch programs that have no kernel for groups.
type GroupedAttention struct {
	Q, K, V, Out   *Linear
	Heads, KVHeads int
	Rotary         *Rotary
}

// NewGroupedAttention makes projections without biases, with normal weights of the
// given deviation. It panics when the heads cannot be shared evenly.
func NewGroupedAttention(b Builder, width, heads, kvHeads int, r *Rotary, std float64) *GroupedAttention {
	if heads < 1 || kvHeads < 1 || width%heads != 0 || heads%kvHeads != 0 || width/heads%2 != 0 {
		panic(fmt.Sprintf("nn: width %d in %d heads, which share %d", width, heads, kvHeads))
	}
	keys := width / heads * kvHeads
	return &GroupedAttention{
		Q:     NewLinearNormal(b.In("q_proj"), width, width, false, std),
		K:     NewLinearNormal(b.In("k_proj"), width, keys, false, std),
		V:     NewLinearNormal(b.In("v_proj"), width, keys, false, std),
		Out:   NewLinearNormal(b.In("o_proj"), width, width, false, std),
		Heads: heads, KVHeads: kvHeads, Rotary: r,
	}
}

// Params returns nothing: the parameters are the projections'.
func (g *GroupedAttention) Params() []*Param { return nil }

// Buffers returns the tables of the rotation.
func (g *GroupedAttention) Buffers() []*Param { return []*Param{g.Rotary.cos, g.Rotary.sin} }

// Children returns the projections.
func (g *GroupedAttention) Children() []Child {
	return []Child{{"q_proj", g.Q}, {"k_proj", g.K}, {"v_proj", g.V}, {"o_proj", g.Out}}
}

// Forward takes and returns [Batch, Rows, Width].
func (g *GroupedAttention) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	x := one(g, in)
	q := g.turned(c, g.Q, x)
	k := g.shared(c, g.turned(c, g.K, x))
	v := g.shared(c, c.Call(g.V, x))
	kind := c.Options.Attention.Kind(x.Shape()[1], g.Rotary.dim)
	y := c.Tape.Attention(q, k, v, autograd.AttentionOptions{Kind: kind, Heads: g.Heads, Causal: true})
	for _, part := range []*autograd.Value{q, k, v} {
		c.Done(part)
	}
	return c.Call(g.Out, y)
}

// turned projects x and turns the result.
func (g *GroupedAttention) turned(c *Ctx, m *Linear, x *autograd.Value) *autograd.Value {
	plain := c.Call(m, x)
	y := g.Rotary.turn(c, plain)
	c.Done(plain)
	return y
}

// shared repeats the heads of keys or values for all that share them.
func (g *GroupedAttention) shared(c *Ctx, x *autograd.Value) *autograd.Value {
	if g.KVHeads == g.Heads {
		return x
	}
	s, n := x.Shape(), g.Heads/g.KVHeads
	y := c.Frame(func() *autograd.Value {
		one := c.View(x, s[0], s[1], g.KVHeads, 1, g.Rotary.dim)
		return c.View(c.Expand(one, s[0], s[1], g.KVHeads, n, g.Rotary.dim), s[0], s[1], g.Heads*g.Rotary.dim)
	})
	c.Done(x)
	return y
}
