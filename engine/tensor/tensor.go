package tensor

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
)

// Tensor is a handle on a [Storage]: which of its elements, in which order. See
// the package documentation for who releases it. Its shape never changes.
type Tensor struct {
	storage  *Storage
	offset   int // in elements
	shape    Shape
	strides  []int // in elements; 0 repeats
	dtype    device.DType
	released bool
}

// Shape returns the extents, which must not be changed.
func (t *Tensor) Shape() Shape { return t.shape }

// DType returns the type of the elements.
func (t *Tensor) DType() device.DType { return t.dtype }

// Size returns the number of elements.
func (t *Tensor) Size() int { return t.shape.Size() }

// Bytes returns the bytes of the elements, which a view shares with others.
func (t *Tensor) Bytes() int64 { return int64(t.Size()) * t.dtype.Size() }

// Device returns where the tensor lives.
func (t *Tensor) Device() *Device { return t.storage.device }

// Storage returns the memory behind the tensor. It is not a new handle.
func (t *Tensor) Storage() *Storage { return t.storage }

// Strides returns the elements from one index to the next in every dimension.
func (t *Tensor) Strides() []int { return t.strides }

// Retain returns another handle on the same elements.
func (t *Tensor) Retain() *Tensor {
	return t.view(t.shape, t.strides, t.offset)
}

// Release gives the handle up, and the memory with the last one. To release a
// handle twice is a bug. A nil tensor is released by doing nothing.
func (t *Tensor) Release() {
	if t == nil {
		return
	}
	t.check()
	t.released = true
	t.storage.release()
}

// Released says whether the handle was given up.
func (t *Tensor) Released() bool { return t.released }

// Contiguous says whether the elements lie one after the other in the order of
// their indexes.
func (t *Tensor) Contiguous() bool {
	step := 1
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] != 1 && t.strides[i] != step {
			return false
		}
		step *= t.shape[i]
	}
	return true
}

// Overlaps says whether two indexes may be the same element, as in an expanded
// view. Such a tensor must not be written to.
func (t *Tensor) Overlaps() bool {
	for i, stride := range t.strides {
		if stride == 0 && t.shape[i] > 1 {
			return true
		}
	}
	return false
}

// Array returns the elements for the device's operations: on a shared device those of
// this process. It panics when they are not contiguous.
func (t *Tensor) Array() device.Array {
	t.check()
	if !t.Contiguous() {
		panic(fmt.Sprintf("tensor: %v with strides %v is not contiguous", t, t.strides))
	}
	n := t.Size()
	if d := t.Device(); d.group != nil {
		_, n = d.part(n, d.group.Rank())
	}
	return t.base(n)
}

// String shows type and shape, such as "float32 [2, 3]".
func (t *Tensor) String() string {
	return fmt.Sprintf("%v %v", t.dtype, t.shape)
}

func (t *Tensor) check() {
	if t.released {
		panic(fmt.Sprintf("tensor: %v (%s) was released before", t, t.storage.label.Role))
	}
}

// base is n elements from the tensor's first one on.
func (t *Tensor) base(n int) device.Array {
	t.storage.arriving.precede(t.Device())
	size := t.dtype.Size()
	return device.Array{
		Addr:  t.storage.block.Addr() + uint64(int64(t.offset)*size),
		Len:   n,
		DType: t.dtype,
	}
}

// strided describes the tensor to CopyStrided.
func (t *Tensor) strided() device.Strided {
	t.check()
	last := 0
	for i, stride := range t.strides {
		last += (t.shape[i] - 1) * stride
	}
	return device.Strided{Base: t.base(last + 1), Strides: t.strides}
}
