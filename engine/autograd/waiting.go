package autograd

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # Sums that wait
//
// The device has one operation for a sum and the normalisation of it. The sum is
// the last operation of one layer and the normalisation is the first of another,
// and no function calls both. So a sum waits: it has its memory and its place in
// the record, but the next operation does its work. If the next operation is a
// normalisation of the sum, the device does both together, else the sum comes
// first. No more than one sum waits. If code asks for the data of the result
// before that, the tape computes it, so hooks and views see no difference.

// waiting is a sum that is still to be computed. It has its own handles on the
// tensors that the sum reads and writes.
type waiting struct {
	value *Value
	sum
	result *tensor.Tensor
}

// sum is a + b.
type sum struct {
	a, b *tensor.Tensor
	// low is the type of the operand whose type is not the result's, if a
	// gradient flows into an operand.
	low device.DType
	has bool
}

// mayAwait reports whether the sum of a and b may wait. It may if neither operand
// has to be repeated, and neither is a variable, because a variable's owner may
// change it at any time.
func (c *call) mayAwait(a, b *Value) bool {
	return !c.replay && a.Shape().Equal(b.Shape()) && a.Size() > 0 && a.variable == nil && b.variable == nil
}

// await makes the sum of the operation's operands, v, wait.
func (c *call) await(v *Value) {
	w := &waiting{value: v, result: v.data.Retain(), sum: sum{a: c.in[0].data.Retain(), b: c.in[1].data.Retain()}}
	for _, operand := range c.in {
		if operand.DType() != v.DType() && c.wanted(operand) {
			w.low, w.has = operand.DType(), true
		}
	}
	c.waiting, v.waits = w, c.Tape
}

// Settle computes the waiting sum, if there is one, and releases its handles.
// Call it before measuring memory or time between operations.
func (t *Tape) Settle() { t.settle() }

// settle computes the waiting sum, unless no handle is left on its result.
func (t *Tape) settle() {
	w := t.unwait()
	if w == nil {
		return
	}
	if w.result.Storage().Handles() > 1 {
		w.result.Device().Backend().Binary(device.Add, w.result.Array(), w.a.Array(), w.b.Array())
	}
	w.release()
}

// unwait returns the waiting sum; the caller must compute it.
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

// follows reports whether the operation that begins on a device also computes the
// waiting sum.
func (w *waiting) follows(op string, in []*Value, on *tensor.Device) bool {
	return in[0] == w.value && on == w.result.Device() && (op == layerNorm || op == rmsNorm)
}

// takeSum returns the sum to be computed with the current operation, nil if there
// is none. The tape holds the tensors that the sum reads until the operation
// ends.
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
