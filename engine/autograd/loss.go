package autograd

import (
	"fmt"

	"memtop/engine/device"
	"memtop/engine/tensor"
)

// IgnoreIndex is the target that counts for nothing, as in PyTorch.
const IgnoreIndex = -100

// CrossEntropy returns the mean of −ln softmax(logits)[target] over the rows
// whose target is not IgnoreIndex: logits are [..., Classes], targets, Int32 or
// Int64, have the leading dimensions. It is float32 (float64 when the logits
// are) and saves the logits and one number per row.
func (t *Tape) CrossEntropy(logits, targets *Value) *Value {
	c := t.beginEntropy(logits, targets)
	defer c.end()
	loss := c.forward()
	shape := c.shape
	return c.value(loss, []*tensor.Tensor{c.in[0].data, c.in[1].data, c.lse, c.count}, func(b *back) {
		b.each(0, func(dx *tensor.Tensor) {
			b.entropy(dx, shape, b.saved(0), b.saved(1), b.saved(2).Array(), b.saved(3))
		})
	})
}

// CrossEntropyInSteps is CrossEntropy with the same bits and with the memory of
// PyTorch's on a GPU, where it is two operations: the first saves its result, the
// log-softmax, of float32; in the backward pass the gradient of that is a tensor of
// its own, zeros but for the targets. Logits of bfloat16 are converted to float32
// first; those of float16 are read as they are.
func (t *Tape) CrossEntropyInSteps(logits, targets *Value) *Value {
	if logits.DType() == device.BFloat16 {
		logits = t.Cast(logits, device.Float32)
		defer t.Done(logits)
	}
	c := t.beginEntropy(logits, targets)
	defer c.end()
	loss, shape := c.forward(), c.shape
	logarithms := c.result(tensor.Shape{shape.Rows, shape.Classes}, c.wide, "log softmax")
	c.run(func() {
		logarithms.CopyFrom(c.hold(c.hold(c.lse.View(-1, 1)).Expand(logarithms.Shape())))
		c.backend().AddScaled(logarithms.Array(), c.in[0].data.Array(), logarithms.Array(), -1)
	})
	return c.value(loss, []*tensor.Tensor{logarithms, c.in[1].data, c.count}, func(b *back) {
		if !b.wants(0) {
			return
		}
		// One kernel computes the gradients of both operations. It reads only zeros of
		// the first one's: the log Σ of a log-softmax.
		zeros := b.gradLike(b.saved(0))
		zeros.Fill(0)
		b.each(0, func(dx *tensor.Tensor) {
			b.entropy(dx, shape, b.saved(0), b.saved(1), zeros.Array().Slice(0, shape.Rows), b.saved(2))
		})
	})
}

// entropyCall is a cross-entropy under way.
type entropyCall struct {
	*call
	shape      device.CrossEntropy // its numbers only
	wide       device.DType        // of the loss
	lse, count *tensor.Tensor
}

func (t *Tape) beginEntropy(logits, targets *Value) *entropyCall {
	atLeast("cross_entropy", logits, 1)
	lead := logits.Shape()[:len(logits.Shape())-1]
	if !targets.Shape().Equal(lead) || targets.DType().IsFloat() {
		panic(fmt.Sprintf("autograd: cross_entropy of %v with targets %v", logits, targets))
	}
	c := &entropyCall{call: t.begin("cross_entropy", logits, targets), wide: statistics(logits.DType())}
	c.contiguous(0, 1)
	c.shape = device.CrossEntropy{Rows: lead.Size(), Classes: logits.Shape().Last(), IgnoreIndex: IgnoreIndex}
	return c
}

// forward computes the loss, and what the rule reads of it.
func (c *entropyCall) forward() (loss *tensor.Tensor) {
	loss = c.out(nil, c.wide)
	c.lse = c.result(tensor.Shape{c.shape.Rows}, c.wide, "log sum exp")
	c.count = c.result(nil, c.wide, "targets counted")
	c.run(func() {
		e := c.shape
		e.Logits, e.Targets, e.LSE = c.in[0].data.Array(), c.in[1].data.Array(), c.lse.Array()
		e.Count, e.Loss = c.count.Array(), loss.Array()
		c.backend().CrossEntropy(e)
	})
	return loss
}

// entropy sets dx to the gradient of the logits.
func (b *back) entropy(dx *tensor.Tensor, e device.CrossEntropy, logits, targets *tensor.Tensor, lse device.Array, count *tensor.Tensor) {
	e.Logits, e.Targets, e.LSE, e.Count = logits.Array(), targets.Array(), lse, count.Array()
	e.Loss = b.dy.Array() // not read, but a device looks at its type
	b.backend().CrossEntropyBackward(dx.Array(), e, b.dy.Array())
}
