package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Value is a tensor in a computation: operations take and return values. A frame
// of its tape owns it, or a [Variable]; see the package documentation for how
// long it lives.
type Value struct {
	data     *tensor.Tensor
	slot     *slot     // where its gradient goes; nil when it is not wanted
	variable *Variable // the leaf that this is the value of
	pad      int       // the columns of its rows with padding, 0 without
	waits    *Tape     // the tape that has still to compute it
}

// Data returns the tensor. It is not a new handle: it is released with the
// value.
func (v *Value) Data() *tensor.Tensor {
	if v.waits != nil {
		v.waits.Settle()
	}
	return v.data
}

// Shape returns the extents, which must not be changed.
func (v *Value) Shape() tensor.Shape { return v.data.Shape() }

// DType returns the type of the elements.
func (v *Value) DType() device.DType { return v.data.DType() }

// Size returns the number of elements.
func (v *Value) Size() int { return v.data.Size() }

// Bytes returns the bytes of the elements, which a view shares with others.
func (v *Value) Bytes() int64 { return v.data.Bytes() }

// String shows type and shape, such as "float32 [2, 3]".
func (v *Value) String() string { return v.data.String() }

func sameShape(op string, a, b *Value) {
	if !a.Shape().Equal(b.Shape()) {
		panic(fmt.Sprintf("autograd: %s of shapes %v and %v", op, a.Shape(), b.Shape()))
	}
}

// atLeast panics unless v has n dimensions or more.
func atLeast(op string, v *Value, n int) {
	if len(v.Shape()) < n {
		panic(fmt.Sprintf("autograd: %s of shape %v, which has fewer than %d dimensions", op, v.Shape(), n))
	}
}
