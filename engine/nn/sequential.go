package nn

import (
	"slices"
	"strconv"
	"time"

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
	for len(modules) > 0 {
		if l, a, ok := c.fusible(modules); ok {
			in = []*autograd.Value{c.activated(l, a, in, own)}
			own, modules = true, modules[2:]
			continue
		}
		m := modules[0].Module
		modules = modules[1:]
		if own {
			in = []*autograd.Value{c.CallLast(m, in[0])}
			continue
		}
		out := c.Call(m, in...)
		own = !slices.Contains(in, out)
		in = []*autograd.Value{out}
	}
	return in[0]
}

// fusible returns the Linear and the activation that modules begin with, if the
// device may do both in one operation. It may if no hook looks at the value
// between them, if no checkpoint computes the Linear again without the activation,
// and if both are on one device.
func (c *Ctx) fusible(modules []Child) (l *Linear, a activation, ok bool) {
	if len(modules) < 2 || len(c.hooks) > 0 {
		return nil, nil, false
	}
	l, isLinear := modules[0].Module.(*Linear)
	a, activates := modules[1].Module.(activation)
	if !isLinear || !activates {
		return nil, nil, false
	}
	first, second := c.find(l), c.find(a)
	return l, a, c.place(first) == c.place(second) && len(first.hooks) == 0 && len(second.hooks) == 0 && !c.Options.Checkpoint.chosen[first.Name]
}

// activated calls a Linear and the activation of its result. The Linear leaves
// its product undone, and the activation computes both; that time counts for the
// Linear. last says that the caller made the Linear's input and no longer needs
// it.
func (c *Ctx) activated(l *Linear, a activation, in []*autograd.Value, last bool) *autograd.Value {
	var product *autograd.Undone
	h := c.callBy(l, func(c *Ctx, in ...*autograd.Value) (h *autograd.Value) {
		h, product = l.forward(c, in)
		return h
	}, in)
	defer product.Release()
	if last {
		c.Done(in[0])
	}
	var took time.Duration
	y := c.callBy(a, func(c *Ctx, in ...*autograd.Value) *autograd.Value {
		start := time.Now()
		y := c.UnaryOf(a.function(), one(a, in), product)
		took = time.Since(start)
		return y
	}, []*autograd.Value{h})
	if product != nil {
		c.spent(c.find(a), -took)
		c.spent(c.find(l), took)
	}
	c.Done(h)
	return y
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
