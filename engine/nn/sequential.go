package nn

import (
	"slices"
	"strconv"

	"github.com/memtop/memtop/engine/autograd"
)

// Sequential runs modules one after the other, each on the previous module's
// result. It releases every result right after its last use.
type Sequential struct {
	modules []Child
}

// NewSequential names the modules "0", "1", and so on.
func NewSequential(modules ...Module) *Sequential {
	return &Sequential{modules: numbered(modules)}
}

func numbered(modules []Module) []Child {
	list := make([]Child, len(modules))
	for i, m := range modules {
		list[i] = Child{Name: strconv.Itoa(i), Module: m}
	}
	return list
}

// Params returns nothing: the parameters are the children's.
func (s *Sequential) Params() []*Param { return nil }

// Children returns the modules in order.
func (s *Sequential) Children() []Child { return s.modules }

// Forward takes what the first module takes.
func (s *Sequential) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return chain(c, s.modules, in...)
}

func chain(c *Ctx, modules []Child, in ...*autograd.Value) *autograd.Value {
	own := false // the next module's input was made here
	for i, m := range modules {
		c.SetActivated(c.activates(modules[i:]))
		out := c.Call(m.Module, in...)
		if own && out != in[0] {
			c.Done(in[0])
		}
		own = own || !slices.Contains(in, out)
		in = []*autograd.Value{out}
	}
	return in[0]
}

// activates reports whether modules begin with a Linear and the activation of its
// result, which the device may do in one operation. It may not if a checkpoint
// computes the Linear again without the activation.
func (c *Ctx) activates(modules []Child) bool {
	if len(modules) < 2 {
		return false
	}
	l, isLinear := modules[0].Module.(*Linear)
	_, activation := modules[1].Module.(activation)
	return isLinear && activation && !c.Options.Checkpoint.chosen[c.find(l).Name]
}

// Blocks is a Sequential of similar modules, the repeated part of a model. The
// checkpoint policy of [Options] applies to it.
type Blocks struct {
	blocks []Child
}

// NewBlocks names the modules "0", "1", and so on.
func NewBlocks(blocks ...Module) *Blocks {
	return &Blocks{blocks: numbered(blocks)}
}

// Params returns nothing: the parameters are the children's.
func (b *Blocks) Params() []*Param { return nil }

// Children returns the blocks in order.
func (b *Blocks) Children() []Child { return b.blocks }

// Forward takes one value, the first block's input.
func (b *Blocks) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	x := one(b, in)
	for _, s := range c.Options.Checkpoint.Segments(len(b.blocks)) {
		y := b.segment(c, s, x)
		if x != in[0] && x != y {
			c.Done(x)
		}
		x = y
	}
	return x
}

func (b *Blocks) segment(c *Ctx, s Segment, x *autograd.Value) *autograd.Value {
	run := func(in []*autograd.Value) *autograd.Value {
		return chain(c, b.blocks[s.From:s.To], in...)
	}
	if s.Checkpoint {
		return c.Checkpoint(run, x)
	}
	return run([]*autograd.Value{x})
}
