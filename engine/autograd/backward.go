package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// back is a running rule: the tensors that it reads, and where its results go.
type back struct {
	*Tape
	node *node
	dy   *tensor.Tensor
}

// saved returns a tensor that the operation saved. It panics if the tensor was
// written to since, because the gradient would be wrong.
func (b *back) saved(i int) *tensor.Tensor {
	s := &b.node.saved[i]
	if s.away != nil {
		s.away.fetch(b.Tape)
		return b.hold(s.away.back.As(s.layout))
	}
	if now := s.data.Storage().Version(); now != s.version {
		panic(fmt.Sprintf("autograd: %v of layer %q, which the gradient of %s needs, was changed in place "+
			"after it was saved (version %d, now %d)", s.data, b.node.layer, b.node.op, s.version, now))
	}
	if s.data.Device() != s.read {
		return b.hold(b.use(s.data, s.read).As(s.layout))
	}
	return s.data
}

// wants says whether a gradient flows into an operand.
func (b *back) wants(i int) bool { return b.node.in[i] != nil }

// grad returns memory for the gradient of an operand.
func (b *back) grad(i int) *tensor.Tensor {
	like := b.node.in[i].like
	return b.temporary(like.Shape(), like.DType(), "grad of "+b.node.op)
}

// gradLike returns memory for a gradient, shaped as x is.
func (b *back) gradLike(x *tensor.Tensor) *tensor.Tensor {
	return b.temporary(x.Shape(), x.DType(), "grad of "+b.node.op)
}

// reuse calls f with memory for the gradient of operand i, as each does. If
// nothing else needs the operand, which was saved as number n, f gets the
// operand's own memory. f may then overwrite its input, element by element.
func (b *back) reuse(i, n int, f func(dx *tensor.Tensor)) {
	s := &b.node.saved[n]
	if !b.wants(i) || s.away != nil || s.data.Device() != b.device || s.data.Storage().Handles() > 1 ||
		s.data.DType() != b.node.in[i].like.DType() {
		if b.wants(i) {
			dx := b.padGrad(i)
			f(dx)
			b.give(i, dx)
		}
		return
	}
	dx := b.hold(b.saved(n).Retain())
	f(dx)
	dx.Storage().Wrote()
	dx.Storage().Retag(trace.BackwardTemporary, b.layer, "grad of "+b.node.op)
	b.give(i, dx)
}

// give adds g, which has the operand's shape, to the operand's gradient.
func (b *back) give(i int, g *tensor.Tensor) {
	s := b.node.in[i]
	if s == nil {
		return
	}
	if g.DType() != s.like.DType() {
		g = b.converted(g, s.like)
	}
	s.add(b.Tape, g)
}

// converted returns a gradient in the type of like: a copy that was made with the
// gradient, or one that is made now.
func (b *back) converted(g, like *tensor.Tensor) *tensor.Tensor {
	if low := b.node.out.low; g == b.dy && low != nil && low.DType() == like.DType() {
		return low
	}
	y := b.temporary(g.Shape(), like.DType(), "grad of "+b.node.op)
	b.backend().Cast(y.Array(), g.Array())
	return y
}

// sum returns the gradient that an operand has so far, for adding in place. If
// there is none, or if others hold a handle on it, sum returns fresh memory,
// which the caller passes to give.
func (b *back) sum(i int) (g *tensor.Tensor, fresh bool) {
	s := b.node.in[i]
	s.bring(b.device)
	if s.grad != nil && s.grad.Storage().Handles() == 1 {
		return s.grad, false
	}
	return b.grad(i), true
}

// onto returns memory for the whole gradient of an operand, and the gradient
// given so far, nil if there is none. The rule stores the sum of the given part
// and its own in whole, and calls replace. Both are the same tensor if nobody
// else holds a handle on the given part.
func (b *back) onto(i int) (whole, given *tensor.Tensor) {
	b.node.in[i].bring(b.device)
	given = b.node.in[i].grad
	if given != nil && given.Storage().Handles() == 1 {
		return given, given
	}
	return b.grad(i), given
}

// replace makes the tensor that onto returned the gradient of an operand; low is
// the same gradient in a lower type, or nil.
func (b *back) replace(i int, whole, low *tensor.Tensor) {
	s := b.node.in[i]
	if s.grad != whole {
		s.grad.Release()
		s.grad = whole.Retain()
	}
	s.setLow(low)
}

// each calls f with memory for the gradient of an operand, if one is wanted,
// and passes the gradient on.
func (b *back) each(i int, f func(dx *tensor.Tensor)) {
	if b.wants(i) {
		dx := b.grad(i)
		f(dx)
		b.give(i, dx)
	}
}

// Backward adds d v / d x to the gradient of every variable x that v was computed
// from. v is one number. Backward consumes everything recorded so far: it
// releases the saved tensors on the way, and no other recorded value can be
// differentiated any more.
func (t *Tape) Backward(v *Value) {
	switch {
	case v.Size() != 1:
		panic(fmt.Sprintf("autograd: backward from %v, which is not one number", v))
	case t.record == nil:
		panic("autograd: backward while nothing is recorded")
	case v.slot == nil:
		panic(fmt.Sprintf("autograd: backward from %v, which depends on no variable", v))
	case v.slot.done:
		panic(fmt.Sprintf("autograd: backward from %v, whose graph an earlier backward pass has used", v))
	}
	seed := tensor.Full(v.data.Device(), v.Shape(), v.DType(), 1,
		tensor.Tag{Category: trace.BackwardTemporary, Layer: t.layer, Role: "grad seed"})
	defer seed.Release()
	v.slot.add(t, seed)
	t.differentiate(t.record)
}

// differentiate runs the rules of r from the last to the first.
func (t *Tape) differentiate(r *record) {
	if t.waiting != nil && t.waiting.loss == nil {
		t.Settle()
	}
	phase, layer := t.phase, t.layer
	t.phase, t.record = Backward, nil
	defer func() { t.phase, t.layer, t.record = phase, layer, r }()
	for len(r.nodes) > 0 {
		last := len(r.nodes) - 1
		n := r.nodes[last]
		t.fetchNext(r.nodes[:last])
		t.step(n)
		r.nodes[last], r.nodes = nil, r.nodes[:last]
	}
}

// step runs one rule and releases the tensors that it needed.
func (t *Tape) step(n *node) {
	if n.marker != nil {
		n.marker()
		return
	}
	n.out.done = true
	t.layer = n.layer
	defer t.SetDevice(t.SetDevice(n.device))
	if n.out.grad != nil {
		mark := len(t.temps)
		n.rule(&back{Tape: t, node: n, dy: n.out.grad})
		t.sweep(mark)
	}
	n.release()
	for _, s := range n.in {
		t.used(s)
	}
}

// used counts a use of a leaf as done. After the last use it hands the gradient
// to the variable.
func (t *Tape) used(s *slot) {
	if s == nil || s.variable == nil {
		return
	}
	s.uses--
	if s.uses == 0 && s.grad != nil {
		s.variable.accumulate(s.grad)
		s.release()
	}
}

// Mark registers f to run when the backward pass comes to this point: everything
// recorded later has been differentiated, and nothing recorded earlier. Outside
// of recording Mark does nothing.
func (t *Tape) Mark(f func()) {
	if t.record != nil {
		t.record.nodes = append(t.record.nodes, &node{marker: f})
	}
}

// GradOf returns the gradient that has reached v in the backward pass under way,
// or nil. It is for functions given to Mark, and valid until they return.
func (t *Tape) GradOf(v *Value) *tensor.Tensor {
	if v.slot == nil {
		return nil
	}
	return v.slot.grad
}
