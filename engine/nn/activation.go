package nn

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
)

// activation is a module that is a function of every element.
type activation interface {
	Module
	function() device.UnaryOp
}

// GELU is x·Φ(x), or GPT-2's approximation by tanh.
type GELU struct {
	stateless
	Tanh bool
}

func (g *GELU) function() device.UnaryOp {
	if g.Tanh {
		return device.GELUTanh
	}
	return device.GELU
}

// Forward takes and returns any shape.
func (g *GELU) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Unary(g.function(), one(g, in))
}

// ReLU is max(x, 0).
type ReLU struct{ stateless }

func (r *ReLU) function() device.UnaryOp { return device.ReLU }

// Forward takes and returns any shape.
func (r *ReLU) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Unary(r.function(), one(r, in))
}

// SiLU is x/(1+e^-x).
type SiLU struct{ stateless }

func (s *SiLU) function() device.UnaryOp { return device.SiLU }

// Forward takes and returns any shape.
func (s *SiLU) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Unary(s.function(), one(s, in))
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
	if !c.Training || d.P == 0 {
		return x
	}
	return c.Dropout(x, d.P)
}

// MeanPool averages the last two dimensions, the pixels of every channel.
type MeanPool struct{ stateless }

// Forward takes [..., Height, Width] and returns [...].
func (m *MeanPool) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Mean(one(m, in), -2, -1)
}
