package autograd

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # Sums that wait
//
// The device has one operation for a sum and the normalisation of it. The sum is the
// last operation of one layer and the normalisation is the first of another, and no
// function calls both. So a sum waits: it has its memory and its place in the record,
// but its work is done by the next operation, with that one's own where it is a
// normalisation of it, else before it. No more than one sum waits. Whoever asks for
// the data of its result in between gets it computed, so that hooks and views see no
// difference.

// waiting is a sum whose work is still to be done. It has handles of its own on what
// the work reads and writes.
type waiting struct {
	value *Value
	sum
	result *tensor.Tensor
}

// sum is a + b.
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

// await has the sum of the operation's operands, which is v, wait.
func (c *call) await(v *Value) {
	w := &waiting{value: v, result: v.data.Retain(), sum: sum{a: c.in[0].data.Retain(), b: c.in[1].data.Retain()}}
	for _, operand := range c.in {
		if operand.DType() != v.DType() && c.wanted(operand) {
			w.low, w.has = operand.DType(), true
		}
	}
	c.waiting, v.waits = w, c.Tape
}

// Settle does the sum that waits, if there is one, and releases what only that held:
// for who looks at memory or time between operations.
func (t *Tape) Settle() { t.settle() }

// settle does the sum that waits, unless no handle is left on its result.
func (t *Tape) settle() {
	w := t.unwait()
	if w == nil {
		return
	}
	if w.result.Storage().Handles() > 1 {
		t.backend().Binary(device.Add, w.result.Array(), w.a.Array(), w.b.Array())
	}
	w.release()
}

// unwait returns the sum that waits, whose work is the caller's from now on.
func (t *Tape) unwait() *waiting {
	w := t.waiting
	if w != nil {
		t.waiting, w.value.waits = nil, nil
	}
	return w
}

func (w *waiting) release() {
	w.result.Release()
	w.a.Release()
	w.b.Release()
}

// follows reports whether an operation that begins does the sum that waits.
func (w *waiting) follows(op string, in []*Value) bool {
	return in[0] == w.value && (op == layerNorm || op == rmsNorm)
}

// takeSum returns the sum to be done with the operation under way, nil when there is
// none. What it reads is held until the operation ends.
func (c *call) takeSum() *sum {
	if c.replay {
		c.settle()
	}
	w := c.unwait()
	if w == nil {
		return nil
	}
	c.hold(w.a)
	c.hold(w.b)
	c.hold(w.result)
	return &w.sum
}
