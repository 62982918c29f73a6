package nn

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/engine/device"
)

// Attention is the implementation that attention layers use. All implementations
// give the same result except for rounding, but they keep different amounts of
// memory; see [device.AttentionKind].
type Attention uint8

// AutoAttention chooses by the sizes. The other values are the device's kinds.
const (
	AutoAttention    Attention = 0
	NaiveAttention             = 1 + Attention(device.Naive)
	ChunkedAttention           = 1 + Attention(device.Chunked)
	FlashAttention             = 1 + Attention(device.Flash)
)

// Attentions returns auto and every implementation.
func Attentions() []Attention {
	all := []Attention{AutoAttention}
	for _, kind := range device.AttentionKinds() {
		all = append(all, 1+Attention(kind))
	}
	return all
}

// kind returns the device's implementation. There is none for auto.
func (a Attention) kind() device.AttentionKind { return device.AttentionKind(a - 1) }

// String returns the name that settings use, such as "flash".
func (a Attention) String() string {
	if a == AutoAttention {
		return "auto"
	}
	return a.kind().String()
}

// ParseAttention is the inverse of Attention.String.
func ParseAttention(name string) (Attention, error) {
	return choice.Parse("attention", Attentions(), name)
}

// Kind resolves auto for a number of rows and the width of a head. It is naive
// while a head has no more probabilities than elements of queries. Beyond that it
// is flash, because the probabilities would soon take most of the memory.
func (a Attention) Kind(rows, width int) device.AttentionKind {
	switch {
	case a != AutoAttention:
		return a.kind()
	case rows <= width:
		return device.Naive
	}
	return device.Flash
}

// MultiHeadAttention is self-attention: one projection makes queries, keys and
// values, every head computes attention, and a second projection takes the
// result.
type MultiHeadAttention struct {
	QKV, Proj *Linear
	Heads     int
	Causal    bool
}

// Params returns nothing: the parameters are the projections'.
func (m *MultiHeadAttention) Params() []*Param { return nil }

// Children returns the two projections.
func (m *MultiHeadAttention) Children() []Child {
	return []Child{{"qkv", m.QKV}, {"proj", m.Proj}}
}

// Forward takes and returns [Batch, Rows, Width].
func (m *MultiHeadAttention) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	x := one(m, in)
	qkv := c.Call(m.QKV, x)
	s := qkv.Shape()
	kind := c.Options.Attention.Kind(s[1], s[2]/3/m.Heads)
	y := c.AttentionPacked(qkv, autograd.AttentionOptions{Kind: kind, Heads: m.Heads, Causal: m.Causal})
	c.Done(qkv)
	return c.Call(m.Proj, y)
}
