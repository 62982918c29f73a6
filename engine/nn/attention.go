package nn

import (
	"math"

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
	// Dropout is the probability with which attention probabilities are zeroed in
	// training. Only the naive implementation has probabilities, so dropout uses
	// it whatever the options say.
	Dropout float64
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
	y := m.mix(c, qkv)
	c.Done(qkv)
	return c.Call(m.Proj, y)
}

func (m *MultiHeadAttention) mix(c *Ctx, qkv *autograd.Value) *autograd.Value {
	s := qkv.Shape()
	if c.Training && m.Dropout > 0 {
		return c.Frame(func() *autograd.Value { return m.dropped(c, qkv) })
	}
	kind := c.Options.Attention.Kind(s[1], s[2]/3/m.Heads)
	return c.AttentionPacked(qkv, autograd.AttentionOptions{Kind: kind, Heads: m.Heads, Causal: m.Causal})
}

// dropped is naive attention of single operations, with dropout on the
// probabilities.
func (m *MultiHeadAttention) dropped(c *Ctx, qkv *autograd.Value) *autograd.Value {
	s := qkv.Shape()
	batch, rows, width := s[0], s[1], s[2]/3
	part := func(i int) *autograd.Value { // [Batch, Heads, Rows, Dim]
		return c.Permute(c.View(c.Narrow(qkv, 2, i*width, width), batch, rows, m.Heads, width/m.Heads), 0, 2, 1, 3)
	}
	scale := 1 / math.Sqrt(float64(width/m.Heads))
	softmax := c.Softmax
	if m.Causal {
		softmax = c.CausalSoftmax
	}
	probs := softmax(c.Scale(c.MatMul(part(0), c.Transpose(part(1), 2, 3)), scale))
	y := c.MatMul(c.Dropout(probs, m.Dropout), part(2))
	return c.View(c.Permute(y, 0, 2, 1, 3), batch, rows, width)
}
