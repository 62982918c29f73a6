package nn

import (
	"fmt"

	"memtop/engine/autograd"
)

// GELU is x·Φ(x), or GPT-2's approximation by tanh.
type GELU struct {
	stateless
	Tanh bool
}

// Forward takes and returns any shape.
func (g *GELU) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	if g.Tanh {
		return c.GELUTanh(one(g, in))
	}
	return c.GELU(one(g, in))
}

// ReLU is max(x, 0).
type ReLU struct{ stateless }

// Forward takes and returns any shape.
func (r *ReLU) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.ReLU(one(r, in))
}

// SiLU is x/(1+e^-x).
type SiLU struct{ stateless }

// Forward takes and returns any shape.
func (s *SiLU) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.SiLU(one(s, in))
}

// Softmax is e^x / Σ e^x over the last dimension.
type Softmax struct{ stateless }

// Forward takes and returns any shape with a last dimension.
func (s *Softmax) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Softmax(one(s, in))
}

// Dropout zeroes elements with probability P and scales the rest by 1/(1−P)
// while training; else it does nothing.
type Dropout struct {
	stateless
	P float64
}

// Forward takes and returns any shape.
func (d *Dropout) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	x := one(d, in)
	if !c.Training {
		return x
	}
	return c.Dropout(x, d.P)
}

// CrossEntropy is the mean over rows of −ln softmax(logits)[target], without
// the rows whose target is autograd.IgnoreIndex.
type CrossEntropy struct{ stateless }

// Forward takes logits, [..., Classes], and targets of the leading dimensions,
// and returns one number.
func (l *CrossEntropy) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	if len(in) != 2 {
		panic(fmt.Sprintf("nn: CrossEntropy takes logits and targets, got %d inputs", len(in)))
	}
	return c.CrossEntropy(in[0], in[1])
}

// Flatten joins all dimensions from the second on.
type Flatten struct{ stateless }

// Forward takes [Batch, ...] and returns [Batch, N], a view where it can be.
func (f *Flatten) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	x := one(f, in)
	return c.View(x, x.Shape()[0], -1)
}

// MeanPool averages the last two dimensions, the pixels of every channel.
type MeanPool struct{ stateless }

// Forward takes [..., Height, Width] and returns [...].
func (m *MeanPool) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Mean(one(m, in), -2, -1)
}
