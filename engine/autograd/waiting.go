package autograd

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # Operations that wait
//
// The device has one operation for a sum and the normalisation of it, and one for a
// linear layer's product and the activation of it. So the first of the two waits: it
// has its memory and its place in the record, but its work is done by the next
// operation, with that one's own where it is the second, else before it. No more than
// one operation waits. Whoever asks for the data of its result in between gets it
// computed, so that hooks and views see no difference.

// waiting is an operation whose work is still to be done. It has handles of its own
// on what the work reads and writes.
type waiting struct {
	value   *Value
	result  *tensor.Tensor
	held    []*tensor.Tensor // what is read
	sum     *sum             // nil when it is a product
	product device.MatMul    // into result
}

// sum is result = a + b.
type sum struct {
	a, b *tensor.Tensor
	// low is the type of the operand that has not the result's, if a gradient flows
	// into one.
	low device.DType
	has bool
}

// await has the operation that reads the operands and makes v wait.
func (c *call) await(v *Value, operands ...*Value) *waiting {
	w := &waiting{value: v, result: v.data.Retain()}
	for _, x := range operands {
		w.held = append(w.held, x.data.Retain())
	}
	c.waiting, v.waits = w, c.Tape
	return w
}

// mayAwait reports whether the sum of a and b may wait: nothing has to be repeated for
// it, and neither is a variable, which changes when its owner likes.
func (c *call) mayAwait(a, b *Value) bool {
	return !c.replay && a.Shape().Equal(b.Shape()) && a.Size() > 0 && a.variable == nil && b.variable == nil
}

// awaitSum has the sum of the operation's operands wait.
func (c *call) awaitSum(v *Value) {
	w := c.await(v, c.in[0], c.in[1])
	w.sum = &sum{a: w.held[0], b: w.held[1]}
	for _, operand := range c.in {
		if operand.DType() != v.DType() && c.wanted(operand) {
			w.sum.low, w.sum.has = operand.DType(), true
		}
	}
}

// awaitProduct has a linear layer's product of the operation's operands wait.
func (c *call) awaitProduct(v *Value, p product) {
	w := c.await(v, c.in...)
	w.product = p.with(w.result, w.held[0], w.held[1])
	if len(w.held) == 3 {
		w.product.Bias = w.held[2].Array()
	}
}

// Settle does the work that waits, if there is any, and releases what only that held:
// for who looks at memory or time between operations.
func (t *Tape) Settle() { t.settle() }

// settle does the work that waits, unless no handle is left on its result.
func (t *Tape) settle() {
	w := t.unwait()
	switch {
	case w == nil:
		return
	case w.result.Storage().Handles() == 1:
	case w.sum != nil:
		t.backend().Binary(device.Add, w.result.Array(), w.sum.a.Array(), w.sum.b.Array())
	default:
		t.backend().MatMul(w.product.Plan())
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
	for _, x := range w.held {
		x.Release()
	}
}

// follows reports whether an operation that begins can do the work that waits.
func (w *waiting) follows(op string, in []*Value) bool {
	switch {
	case in[0] != w.value:
		return false
	case w.sum != nil:
		return op == layerNorm || op == rmsNorm
	}
	return endsProduct[op]
}

// endsProduct has the operations that a product can end with.
var endsProduct = func() map[string]bool {
	list := make(map[string]bool)
	for _, f := range device.UnaryOps() {
		list[f.String()] = f.EndsProduct()
	}
	return list
}()

// take returns what waits to be done with the operation under way, nil when there is
// nothing. What it reads is held until the operation ends.
func (c *call) take() *waiting {
	if c.replay {
		c.settle()
	}
	w := c.unwait()
	if w == nil {
		return nil
	}
	for _, x := range append(w.held, w.result) {
		c.hold(x)
	}
	return w
}

// takeSum is take for an operation that follows sums.
func (c *call) takeSum() *sum {
	if w := c.take(); w != nil {
		return w.sum
	}
	return nil
}
