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
//
// A cross-entropy waits in the same way, for the backward pass, if that begins with
// it: the device has one operation for it and its gradient.

// waiting is a sum or a cross-entropy that is still to be computed.
type waiting struct {
	value *Value
	held  []*tensor.Tensor // its own handles on the result and on what it reads and writes
	sum   *sum             // nil for a cross-entropy
	loss  device.CrossEntropy
}

// sum is a + b, of the shape of a.
type sum struct {
	a, b *tensor.Tensor
	// low is the type of an operand that has fewer bits than the result, if a
	// gradient flows into it.
	low device.DType
	has bool
}

// mayAwait reports whether the sum of a and b, of the given shape, may wait. It may
// if a is whole and b repeats by rows, if at all, and neither is a variable, because
// a variable's owner may change it at any time.
func (c *call) mayAwait(a, b *Value, shape tensor.Shape) bool {
	rows := len(b.Shape()) > 0 && len(shape) > 0 && b.Shape().Last() == shape.Last() && isTail(b.Shape(), shape)
	return !c.replay && a.Shape().Equal(shape) && rows && a.Size() > 0 && a.variable == nil && b.variable == nil
}

// await makes the sum of the operation's operands, v, wait.
func (c *call) await(v *Value) {
	w := &waiting{value: v}
	w.hold(v.data, c.in[0].data, c.in[1].data)
	w.sum = &sum{a: w.held[1], b: w.held[2]}
	for _, operand := range c.in {
		if operand.DType().Size() < v.DType().Size() && c.wanted(operand) {
			w.sum.low, w.sum.has = operand.DType(), true
		}
	}
	c.waiting, v.waits = w, c.Tape
}

func (w *waiting) hold(list ...*tensor.Tensor) {
	for _, x := range list {
		w.held = append(w.held, x.Retain())
	}
}

// mayAwaitBackward reports whether a cross-entropy may wait. It may if a backward pass
// can follow and finds on the device what the cross-entropy reads.
func (c *call) mayAwaitBackward() bool {
	return c.phase == Forward && c.offload == nil && c.keeper == nil && c.wanted(c.in[0]) && c.in[0].variable == nil
}

// takeLoss returns the cross-entropy to be computed with its gradient, which the rule
// under way makes, and false if it was computed.
func (b *back) takeLoss() (device.CrossEntropy, bool) {
	if b.waiting == nil || b.waiting.value.slot != b.node.out {
		return device.CrossEntropy{}, false
	}
	w := b.unwait()
	b.Tape.hold(w.held[0].Retain()) // the node holds the rest
	w.release()
	return w.loss, true
}

// Settle computes what waits, if anything does, and releases its handles.
// Call it before measuring memory or time between operations.
func (t *Tape) Settle() { t.settle() }

// settle computes what waits, unless no handle is left on its result.
func (t *Tape) settle() {
	w := t.unwait()
	if w == nil {
		return
	}
	switch result := w.held[0]; {
	case result.Storage().Handles() == 1:
	case w.sum != nil:
		result.Device().Backend().Binary(device.Add, result.Array(), w.sum.a.Array(), w.sum.b.Array())
	default:
		result.Device().Backend().CrossEntropy(w.loss)
	}
	w.release()
}

// unwait returns what waits; the caller must compute it.
func (t *Tape) unwait() *waiting {
	w := t.waiting
	if w != nil {
		t.waiting, w.value.waits = nil, nil
	}
	return w
}

func (w *waiting) release() {
	for _, x := range w.held {
		x.Release()
	}
}

// follows reports whether the operation that begins on a device also computes the
// waiting sum.
func (w *waiting) follows(op string, in []*Value, on *tensor.Device) bool {
	return w.sum != nil && in[0] == w.value && on == w.held[0].Device() && (op == layerNorm || op == rmsNorm)
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
	for _, x := range w.held {
		c.hold(x)
	}
	return w.sum
}
