package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// IgnoreIndex is the target of rows that the loss leaves out, as in PyTorch.
const IgnoreIndex = -100

// CrossEntropy returns the mean of −ln softmax(logits)[target] over the rows
// whose target is not IgnoreIndex. Logits are [..., Classes]; targets, Int32 or
// Int64, have the leading dimensions. The result is float32, or float64 if the
// logits are. CrossEntropy saves the logits and one number per row. The backward
// pass writes the gradient over the logits, unless something else needs them.
func (t *Tape) CrossEntropy(logits, targets *Value) *Value {
	c := t.beginEntropy(logits, targets)
	defer c.end()
	loss, e := c.prepare()
	waits := c.mayAwaitBackward()
	if !waits {
		c.run(func() { c.backend().CrossEntropy(e) })
	}
	shape := c.shape
	v := c.value(loss, []*tensor.Tensor{c.in[0].data, c.in[1].data, c.lse, c.count}, func(b *back) {
		e := b.takeLoss()
		b.reuse(0, 0, func(dx *tensor.Tensor) {
			if e != nil {
				b.backend().CrossEntropyBoth(b.rows(e, dx), *e, b.dy.Array())
				return
			}
			b.entropy(dx, shape, b.saved(0), b.saved(1), b.saved(2).Array(), b.saved(3))
		})
	})
	if waits {
		c.await(v, &waiting{loss: &e, alone: func(d device.Backend) { d.CrossEntropy(e) }}, c.lse, c.count)
	}
	return v
}

// CrossEntropyInSteps gives the same bits as CrossEntropy, but takes the memory
// of PyTorch's, which is two operations. The first saves its result, the
// log-softmax, in the type of the logits. The second saves the log-softmax in
// float32: with autocast and narrower logits, that is a copy. In the backward
// pass the gradient of the log-softmax is a separate tensor. Without autocast,
// narrow logits are converted to float32 first, as programs for models in half
// precision do.
func (t *Tape) CrossEntropyInSteps(logits, targets *Value) *Value {
	if t.caster == nil && logits.DType().Size() == 2 {
		logits = t.Cast(logits, device.Float32)
		defer t.Done(logits)
	}
	c := t.beginEntropy(t.Contiguous(logits), targets)
	defer c.end()
	loss, shape := c.forward(), c.shape
	c.in[0] = t.logSoftmax(c.in[0], c.lse)
	defer t.Done(c.in[0])
	return c.value(loss, []*tensor.Tensor{c.in[0].data, c.in[1].data, c.count}, func(b *back) {
		zeros := b.temporary(tensor.Shape{shape.Rows}, b.dy.DType(), "log sum exp of a log softmax")
		zeros.Fill(0)
		b.each(0, func(dx *tensor.Tensor) {
			b.entropy(dx, shape, b.saved(0), b.saved(1), zeros.Array(), b.saved(2))
		})
	})
}

// logSoftmax is the first step of a cross-entropy: logits minus log Σ e^logits of
// their row, in lse's type. The gradient that comes back to it is already the
// gradient of the logits, because one operation of the device computes both. So
// the tensor that logSoftmax saves is never read.
func (t *Tape) logSoftmax(logits *Value, lse *tensor.Tensor) *Value {
	c := t.begin("log_softmax", logits)
	defer c.end()
	logits = c.in[0]
	y := c.out(logits.Shape(), lse.DType())
	saved := y
	if logits.DType() != y.DType() {
		saved = c.result(logits.Shape(), logits.DType(), "log softmax")
	}
	c.run(func() {
		rows := c.hold(y.View(lse.Size(), -1))
		rows.CopyFrom(c.hold(c.hold(lse.View(-1, 1)).Expand(rows.Shape())))
		t.backend().AddScaled(y.Array(), logits.data.Array(), y.Array(), -1)
		if saved != y {
			t.backend().Cast(saved.Array(), y.Array())
		}
	})
	return c.value(y, []*tensor.Tensor{saved}, castBack)
}

// entropyCall is a running cross-entropy.
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
	c.contiguous(1)
	c.shape = device.CrossEntropy{Rows: lead.Size(), Classes: logits.Shape().Last(), IgnoreIndex: IgnoreIndex}
	if c.in[0].pad > 0 && !c.in[0].data.Contiguous() {
		c.shape.Stride = c.in[0].pad
	} else {
		c.contiguous(0)
	}
	return c
}

// forward computes the loss, and the numbers that the rule reads.
func (c *entropyCall) forward() (loss *tensor.Tensor) {
	loss, e := c.prepare()
	c.run(func() { c.backend().CrossEntropy(e) })
	return loss
}

// prepare returns memory for the loss, and the operation that computes it.
func (c *entropyCall) prepare() (loss *tensor.Tensor, e device.CrossEntropy) {
	loss = c.out(nil, c.wide)
	c.lse = c.result(tensor.Shape{c.shape.Rows}, c.wide, "log sum exp")
	c.count = c.result(nil, c.wide, "targets counted")
	e = c.shape
	e.Logits, e.Targets, e.LSE = c.rows(&e, c.in[0].data), c.in[1].data.Array(), c.lse.Array()
	e.Count, e.Loss = c.count.Array(), loss.Array()
	return loss, e
}

// entropy sets dx to the gradient of the logits.
func (b *back) entropy(dx *tensor.Tensor, e device.CrossEntropy, logits, targets *tensor.Tensor, lse device.Array, count *tensor.Tensor) {
	e.Logits, e.Targets, e.LSE, e.Count = b.rows(&e, logits), targets.Array(), lse, count.Array()
	e.Loss = b.dy.Array() // not read, but a device looks at its type
	b.backend().CrossEntropyBackward(b.rows(&e, dx), e, b.dy.Array())
}

// rows returns the elements of logits or of their gradient, with the padding
// between rows.
func (t *Tape) rows(e *device.CrossEntropy, x *tensor.Tensor) device.Array {
	if e.Stride == 0 {
		return x.Array()
	}
	return t.hold(x.Whole()).Array()
}
