package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// call is one running operation. Every operation goes through the same steps:
//
//	c := t.begin("name", x, y)   // autocast; c.in is what to compute with
//	defer c.end()                // releases what was temporary
//	out := c.out(shape, dtype)   // one or more results
//	c.run(func() { … })          // the device's work
//	return c.value(out, saved, rule)
//
// In a selective checkpoint, out may return what an earlier run of the same
// operation kept, and run then does nothing.
type call struct {
	*Tape
	op     string
	in     []*Value
	mark   int
	replay bool
}

func (t *Tape) begin(op string, in ...*Value) *call {
	in = slices.Clone(in)
	t.autocast(op, in)
	return t.beginAsGiven(op, in...)
}

// beginAsGiven is begin without autocast.
func (t *Tape) beginAsGiven(op string, in ...*Value) *call {
	if t.waiting != nil && !t.joins(op, in) {
		t.Settle()
	}
	c := &call{Tape: t, op: op, in: slices.Clone(in)}
	for i, v := range c.in {
		c.in[i] = t.local(v) // a nil operand is noticed here
	}
	c.mark = len(t.temps)
	c.replay = t.keeper.replays(op, t.layer)
	return c
}

func (c *call) end() {
	c.sweep(c.mark)
}

// contiguous replaces an operand by one whose elements lie one after the other.
func (c *call) contiguous(operands ...int) {
	for _, i := range operands {
		c.in[i] = c.Contiguous(c.in[i])
	}
}

// out returns memory for a result.
func (c *call) out(shape tensor.Shape, dtype device.DType) *tensor.Tensor {
	return c.result(shape, dtype, c.op+" output")
}

// result returns memory for a result or for a tensor that only the rule needs.
func (c *call) result(shape tensor.Shape, dtype device.DType, role string) *tensor.Tensor {
	if c.replay {
		return c.hold(c.keeper.next())
	}
	x := c.temporary(shape, dtype, role)
	c.keep(c.op, x)
	return x
}

// run does the device's work, unless its results were kept.
func (c *call) run(work func()) {
	if !c.replay {
		work()
	}
}

// value returns the result as a value, and records the rule if a gradient flows
// into any operand. The rule reads the tensors of list through [back.saved].
func (c *call) value(x *tensor.Tensor, list []*tensor.Tensor, rule func(b *back)) *Value {
	v := c.own(x)
	c.differentiate(v, list, rule)
	return v
}

// wanted says whether a gradient flows into v.
func (c *call) wanted(v *Value) bool { return c.record != nil && c.record.slotOf(v) != nil }

func (c *call) differentiate(v *Value, list []*tensor.Tensor, rule func(b *back)) {
	if c.record == nil {
		return
	}
	in := make([]*slot, len(c.in))
	wanted := false
	for i, operand := range c.in {
		in[i] = c.record.slotOf(operand)
		wanted = wanted || in[i] != nil
	}
	if !wanted {
		return
	}
	v.slot = &slot{like: v.data}
	c.record.add(&node{op: c.op, layer: c.layer, device: c.device, in: in, out: v.slot, saved: c.save(list), rule: rule})
}
