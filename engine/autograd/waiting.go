package autograd

import (
	"memtop/engine/device"
	"memtop/engine/tensor"
)

// # Operations that wait
//
// The device has one operation for a sum and the normalisation of it. So a sum
// waits: it has its memory and its place in the record, but its work is done by the
// next operation, with that one's own where it normalises the sum, else before it.
// No more than one operation waits. Whoever asks for the data of its result in
// between gets it computed, so that hooks, views and changes in place see no
// difference.

// waiting is an operation whose work is still to be done. It has handles of its own
// on what the work reads and writes.
type waiting struct {
	value  *Value
	result *tensor.Tensor
	sum    *sum
}

// sum is result = a + b.
type sum struct {
	a, b *tensor.Tensor
	// low is the type of the operand that has not the result's, if a gradient flows
	// into one.
	low device.DType
	has bool
}

// mayAwait reports whether the sum of a and b may wait: nothing has to be repeated for
// it, and neither is a variable, which changes when its owner likes.
func (c *call) mayAwait(a, b *Value) bool {
	return !c.replay && a.Shape().Equal(b.Shape()) && a.Size() > 0 && a.variable == nil && b.variable == nil
}

// awaitSum has the sum of the operation's operands, of one shape, wait.
func (c *call) awaitSum(v *Value) {
	s := &sum{a: c.in[0].data.Retain(), b: c.in[1].data.Retain()}
	for _, operand := range c.in {
		if operand.DType() != v.DType() && c.wanted(operand) {
			s.low, s.has = operand.DType(), true
		}
	}
	c.waiting, v.waits = &waiting{value: v, result: v.data.Retain(), sum: s}, c.Tape
}

// Settle does the work that waits, if there is any, and releases what only that held:
// for who looks at memory between operations.
func (t *Tape) Settle() { t.settle() }

// settle does the work that waits, unless no handle is left on its result.
func (t *Tape) settle() {
	w := t.unwait()
	if w == nil {
		return
	}
	if w.result.Storage().Handles() > 1 {
		t.backend().Binary(device.Add, w.result.Array(), w.sum.a.Array(), w.sum.b.Array())
	}
	w.release()
}

// unwait returns what waits, whose work is the caller's from now on.
func (t *Tape) unwait() *waiting {
	w := t.waiting
	if w != nil {
		t.waiting, w.value.waits = nil, nil
	}
	return w
}

func (w *waiting) release() {
	w.result.Release()
	w.sum.a.Release()
	w.sum.b.Release()
}

// follows reports whether an operation that begins can do the work that waits.
func (w *waiting) follows(op string, in []*Value) bool {
	return in[0] == w.value && (op == layerNorm || op == rmsNorm)
}

// takeSum returns the sum that waits to be done with the operation under way, nil
// when there is none. What it reads is held until the operation ends.
func (c *call) takeSum() *sum {
	if c.replay {
		c.settle()
	}
	w := c.unwait()
	if w == nil {
		return nil
	}
	c.hold(w.result)
	c.hold(w.sum.a)
	c.hold(w.sum.b)
	return w.sum
}
