package autograd

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # Padding
//
// A matrix of weights may be converted into one with more rows
// ([Variable.PadCasts]). A product with it gives rows with additional columns,
// all 0, and its result is a view without them. A cross-entropy reads the view as
// it is, and gives a gradient with the same layout. For every other operation the
// tape makes the view contiguous, and the gradient is contiguous.

// newPadded returns the first rows of a matrix of a larger shape, whose other rows
// are 0; of equal shapes it is just that tensor.
func newPadded(d *tensor.Device, shape, padded tensor.Shape, dtype device.DType, tag tensor.Tag) *tensor.Tensor {
	whole := tensor.New(d, padded, dtype, tag)
	if shape.Equal(padded) {
		return whole
	}
	defer whole.Release()
	rest := whole.Narrow(0, shape[0], padded[0]-shape[0])
	defer rest.Release()
	rest.Fill(0)
	return whole.Narrow(0, 0, shape[0])
}

// wholeWeights returns the matrix with its padding, until the operation ends.
func (t *Tape) wholeWeights(w *tensor.Tensor) *tensor.Tensor {
	if w.Storage().Label().Role != castRole || w.Device() != t.device {
		return w
	}
	return t.hold(w.Whole())
}

// narrowed returns the view of the first n columns, until the operation ends.
func (t *Tape) narrowed(x *tensor.Tensor, n int) *tensor.Tensor {
	if last := len(x.Shape()) - 1; x.Shape()[last] != n {
		return t.hold(x.Narrow(last, 0, n))
	}
	return x
}

// padTo sets how many elements apart the rows of v, a result, are.
func (v *Value) padTo(columns int) {
	v.pad = columns
	if v.slot != nil {
		v.slot.pad = columns
	}
}

// padRows returns memory for the gradient of an operand, a matrix, as the first
// rows of a matrix with the given number of rows.
func (b *back) padRows(i, rows int) *tensor.Tensor {
	like := b.node.in[i].like
	whole := b.temporary(tensor.Shape{rows, like.Shape()[1]}, like.DType(), "grad of "+b.node.op)
	if rows == like.Shape()[0] {
		return whole
	}
	return b.hold(whole.Narrow(0, 0, like.Shape()[0]))
}

// padGrad returns memory for the gradient of an operand, with the operand's
// layout.
func (b *back) padGrad(i int) *tensor.Tensor {
	s := b.node.in[i]
	if s.pad == 0 {
		return b.grad(i)
	}
	shape := s.like.Shape()
	whole := b.temporary(append(shape[:len(shape)-1:len(shape)-1], s.pad), s.like.DType(), "grad of "+b.node.op)
	return b.narrowed(whole, shape.Last())
}
