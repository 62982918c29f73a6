package tensor

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/snapshots/trace"
)

// Tag describes the purpose of memory; the tensor adds its shape and type.
type Tag struct {
	Category trace.Category
	Layer    string // path of the module, such as "h.0.mlp"
	Role     string // such as "weight"
}

// New returns a contiguous tensor whose elements are not set. It fails when
// there is no memory.
func New(d *Device, shape Shape, dtype device.DType, tag Tag) *Tensor {
	shape = slices.Clone(shape)
	for _, extent := range shape {
		if extent < 0 {
			panic(fmt.Sprintf("tensor: shape %v", shape))
		}
	}
	storage := d.allocate(int64(d.own(shape.Size()))*dtype.Size(), alloc.Label{
		Category: tag.Category, Layer: tag.Layer, Role: tag.Role,
		Shape: shape.String(), DType: dtype.String(),
	})
	storage.shape, storage.dtype = shape, dtype
	return &Tensor{storage: storage, shape: shape, strides: shape.Strides(), dtype: dtype}
}

// Full returns a tensor of equal numbers.
func Full(d *Device, shape Shape, dtype device.DType, value float64, tag Tag) *Tensor {
	t := New(d, shape, dtype, tag)
	t.Fill(value)
	return t
}

// Fill sets every element, and counts as a write in place.
func (t *Tensor) Fill(value float64) {
	t.storage.Wrote()
	if a := t.Array(); a.Len > 0 {
		t.Device().backend.Fill(a, value)
	}
}

// Contiguous returns t with its elements one after the other: a further handle
// when they are already, else a copy with the given tag.
func Contiguous(t *Tensor, tag Tag) *Tensor {
	if t.Contiguous() {
		return t.Retain()
	}
	return Clone(t, tag)
}

// Clone returns a contiguous copy.
func Clone(t *Tensor, tag Tag) *Tensor {
	c := New(t.Device(), t.shape, t.dtype, tag)
	copyElements(c, t)
	return c
}

// Convert returns t in another type: a further handle when it has the type
// already and lies contiguous, else a contiguous copy with the given tag.
func Convert(t *Tensor, dtype device.DType, tag Tag) *Tensor {
	if t.dtype == dtype {
		return Contiguous(t, tag)
	}
	source := Contiguous(t, tag)
	defer source.Release()
	c := New(t.Device(), t.shape, dtype, tag)
	if a := c.Array(); a.Len > 0 {
		t.Device().backend.Cast(a, source.Array())
	}
	return c
}

// CopyFrom writes the elements of src, of the same shape and type, into t,
// which may be a view but not one that overlaps itself. It counts as a write in
// place.
func (t *Tensor) CopyFrom(src *Tensor) {
	if !t.shape.Equal(src.shape) || t.dtype != src.dtype {
		panic(fmt.Sprintf("tensor: copy of %v into %v", src, t))
	}
	if t.Overlaps() {
		panic(fmt.Sprintf("tensor: write into %v, whose elements repeat", t))
	}
	t.storage.Wrote()
	copyElements(t, src)
}

func copyElements(dst, src *Tensor) {
	b := dst.Device().backend
	switch {
	case dst.Size() == 0:
	case dst.Device() != src.Device():
		crossElements(dst, src)
	case dst.Contiguous() && src.Contiguous():
		b.Copy(dst.Array().Buffer(), src.Array().Buffer())
	default:
		d, s, shape := flatten(dst, src)
		b.CopyStrided(d, s, shape)
	}
}
