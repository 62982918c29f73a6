package autograd

import (
	"slices"
	"time"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # Work that waits
//
// The device has one operation for a product and the activation of its result, one
// for a sum and the normalisation of it, and one for a cross-entropy and its
// gradient. The two parts often belong to two layers, and no function calls both. So
// the first part waits: it has its memory and its place in the record, but its work
// is left to the next operation, for a cross-entropy to the backward pass, if that
// begins with it. If the next operation is the other part, the device does both
// together, else the tape does what waits first. No more than one operation waits. If
// code asks for the data of the result before that, the tape computes it, so hooks
// and views see no difference.

// waiting is an operation that is still to be computed: one of a product, a sum and
// a cross-entropy.
type waiting struct {
	value   *Value
	held    []*tensor.Tensor // its own handles on the result and on what it reads and writes
	alone   func(device.Backend)
	product *device.MatMul
	sum     *sum
	loss    *device.CrossEntropy
}

// sum is a + b, of the shape of a.
type sum struct {
	a, b device.Array
	// low is the type of an operand that has fewer bits than the result, if a
	// gradient flows into it.
	low device.DType
	has bool
}

// await makes the operation wait, with handles on its result v, on its operands and
// on what else it writes.
func (c *call) await(v *Value, w *waiting, others ...*tensor.Tensor) {
	w.value, w.held = v, []*tensor.Tensor{v.data.Retain()}
	for _, x := range c.in {
		w.held = append(w.held, x.data.Retain())
	}
	for _, x := range others {
		w.held = append(w.held, x.Retain())
	}
	c.waiting, v.waits = w, c.Tape
}

// SetActivated says whether an activation of the result follows the next Linear. The
// product then waits for it. It returns the previous value.
func (t *Tape) SetActivated(activated bool) (before bool) {
	before, t.activated = t.activated, activated
	return before
}

// TakeProductTime returns the time since the last call that activations took with the
// products that waited for them.
func (t *Tape) TakeProductTime() (took time.Duration) {
	took, t.productTime = t.productTime, 0
	return took
}

// awaitProduct makes the product of the operation's operands, v, wait.
func (c *call) awaitProduct(v *Value, m device.MatMul) {
	c.await(v, &waiting{product: &m, alone: func(d device.Backend) { d.MatMul(m.Plan()) }})
}

// mayAwait reports whether the sum of a and b, of the given shape, may wait. It may
// if a is whole and b repeats by rows, if at all, and neither is a variable, because
// a variable's owner may change it at any time.
func (c *call) mayAwait(a, b *Value, shape tensor.Shape) bool {
	rows := len(b.Shape()) > 0 && len(shape) > 0 && b.Shape().Last() == shape.Last() && isTail(b.Shape(), shape)
	return !c.replay && a.Shape().Equal(shape) && rows && a.Size() > 0 && a.variable == nil && b.variable == nil
}

// awaitSum makes the sum of the operation's operands, v, wait.
func (c *call) awaitSum(v *Value) {
	s := &sum{a: c.in[0].data.Array(), b: c.in[1].data.Array()}
	for _, operand := range c.in {
		if operand.DType().Size() < v.DType().Size() && c.wanted(operand) {
			s.low, s.has = operand.DType(), true
		}
	}
	y := v.data.Array()
	c.await(v, &waiting{sum: s, alone: func(d device.Backend) { d.Binary(device.Add, y, s.a, s.b) }})
}

// mayAwaitBackward reports whether a cross-entropy may wait. It may if a backward pass
// can follow and finds on the device what the cross-entropy reads.
func (c *call) mayAwaitBackward() bool {
	return c.phase == Forward && c.offload == nil && c.keeper == nil && c.wanted(c.in[0]) && c.in[0].variable == nil
}

// takeLoss returns the cross-entropy to be computed with its gradient, which the rule
// under way makes, and nil if it was computed.
func (b *back) takeLoss() *device.CrossEntropy {
	if b.waiting == nil || b.waiting.value.slot != b.node.out {
		return nil
	}
	w := b.unwait()
	b.Tape.hold(w.held[0].Retain()) // the node holds the rest
	w.release()
	return w.loss
}

// Settle computes what waits, if anything does, and releases its handles.
// Call it before measuring memory or time between operations.
func (t *Tape) Settle() {
	w := t.unwait()
	if w == nil {
		return
	}
	if result := w.held[0]; result.Storage().Handles() > 1 {
		w.alone(result.Device().Backend())
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

// joins reports whether the operation that begins also computes what waits.
func (t *Tape) joins(op string, in []*Value) bool {
	w := t.waiting
	switch {
	case in[0] != w.value || t.device != w.held[0].Device() || t.keeper.replays(op, t.layer):
	case w.sum != nil:
		return op == layerNorm || op == rmsNorm
	case w.product != nil:
		return slices.ContainsFunc(device.UnaryOps(), func(f device.UnaryOp) bool { return f.String() == op && f.EndsProduct() })
	}
	return false
}

// take returns what the current operation also computes, nothing if it computes only
// itself. The tape holds the tensors until the operation ends.
func (c *call) take() (product *device.MatMul, s *sum) {
	w := c.unwait()
	if w == nil {
		return nil, nil
	}
	for _, x := range w.held {
		c.hold(x)
	}
	return w.product, w.sum
}
