package tensor

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/device"
)

// # Views
//
// A view is a handle on the storage of another tensor: it copies nothing, and
// writing to one writes to all. Every function here returns a new handle.

func (t *Tensor) view(shape Shape, strides []int, offset int) *Tensor {
	t.check()
	t.storage.retain()
	return &Tensor{storage: t.storage, offset: offset, shape: shape, strides: strides, dtype: t.dtype}
}

// Layout says which elements of its storage a tensor shows, in which order.
type Layout struct {
	offset         int
	shape, strides []int
	dtype          device.DType
}

// Layout returns how the tensor lies in its storage.
func (t *Tensor) Layout() Layout { return Layout{t.offset, t.shape, t.strides, t.dtype} }

// As returns the view with a layout that a tensor had on this storage or on one
// of which this is a copy.
func (t *Tensor) As(l Layout) *Tensor {
	v := t.view(l.shape, l.strides, l.offset)
	v.dtype = l.dtype
	return v
}

// Whole returns the view of all of the storage, as it was made.
func (t *Tensor) Whole() *Tensor {
	s := t.storage
	return t.As(Layout{shape: s.shape, strides: s.shape.Strides(), dtype: s.dtype})
}

// Transpose returns the view with dimensions a and b exchanged.
func (t *Tensor) Transpose(a, b int) *Tensor {
	a, b = t.shape.Dim(a), t.shape.Dim(b)
	shape, strides := slices.Clone(t.shape), slices.Clone(t.strides)
	shape[a], shape[b] = shape[b], shape[a]
	strides[a], strides[b] = strides[b], strides[a]
	return t.view(shape, strides, t.offset)
}

// Permute returns the view whose dimension i is t's dimension order[i].
func (t *Tensor) Permute(order ...int) *Tensor {
	shape, strides := make(Shape, len(order)), make([]int, len(order))
	seen := make([]bool, len(t.shape))
	for i, d := range order {
		d = t.shape.Dim(d)
		if len(order) != len(t.shape) || seen[d] {
			panic(fmt.Sprintf("tensor: order %v of shape %v", order, t.shape))
		}
		seen[d] = true
		shape[i], strides[i] = t.shape[d], t.strides[d]
	}
	return t.view(shape, strides, t.offset)
}

// Narrow returns the view of n indexes of a dimension, from start on.
func (t *Tensor) Narrow(dim, start, n int) *Tensor {
	dim = t.shape.Dim(dim)
	if start < 0 || n < 0 || start+n > t.shape[dim] {
		panic(fmt.Sprintf("tensor: %d indexes from %d on in dimension %d of shape %v", n, start, dim, t.shape))
	}
	shape := slices.Clone(t.shape)
	shape[dim] = n
	return t.view(shape, t.strides, t.offset+start*t.strides[dim])
}

// Expand returns the view in which dimensions of extent 1, and missing leading
// ones, repeat to make the given shape.
func (t *Tensor) Expand(shape Shape) *Tensor {
	if len(shape) < len(t.shape) || !Broadcast(t.shape, shape).Equal(shape) {
		panic(fmt.Sprintf("tensor: shape %v does not expand to %v", t.shape, shape))
	}
	strides := make([]int, len(shape))
	lead := len(shape) - len(t.shape)
	for i := range t.shape {
		if t.shape[i] == shape[lead+i] {
			strides[lead+i] = t.strides[i]
		}
	}
	return t.view(shape, strides, t.offset)
}

// Viewable says whether the elements can be seen in another shape without
// copying them.
func (t *Tensor) Viewable(shape Shape) bool {
	_, ok := t.restride(shape)
	return ok && shape.Size() == t.Size()
}

// View returns the same elements in another shape, where one extent may be -1
// and is then computed. It panics when the sizes differ or when the strides do
// not allow it; see Viewable.
func (t *Tensor) View(shape ...int) *Tensor {
	full := t.Infer(shape)
	strides, ok := t.restride(full)
	if !ok {
		panic(fmt.Sprintf("tensor: shape %v with strides %v has no view as %v", t.shape, t.strides, full))
	}
	return t.view(full, strides, t.offset)
}

// Infer returns shape with the one extent that may be -1 computed from the size
// of t. It panics with both shapes when the sizes differ.
func (t *Tensor) Infer(shape Shape) Shape {
	full, known, free := slices.Clone(shape), 1, -1
	for i, extent := range shape {
		if extent == -1 && free < 0 {
			free = i
		} else {
			known *= extent
		}
	}
	if free >= 0 && known > 0 {
		full[free] = t.Size() / known
	}
	if full.Size() != t.Size() {
		panic(fmt.Sprintf("tensor: shape %v has not the size of %v", t.shape, shape))
	}
	return full
}

// restride finds strides for another shape. Runs of t's dimensions that are
// contiguous among themselves can be divided anew; the borders between runs
// have to be borders of the new shape as well.
func (t *Tensor) restride(shape Shape) ([]int, bool) {
	if t.Size() == 0 || t.Contiguous() {
		return shape.Strides(), true
	}
	strides := make([]int, len(shape))
	next := len(shape) - 1
	for i := len(t.shape) - 1; i >= 0; {
		run, step := t.shape[i], t.strides[i]
		for i--; i >= 0 && (t.shape[i] == 1 || run == 1 || t.strides[i] == step*run); i-- {
			if run == 1 {
				step = t.strides[i]
			}
			run *= t.shape[i]
		}
		filled := 1
		for ; next >= 0 && (filled < run || shape[next] == 1); next-- {
			strides[next] = step * filled
			filled *= shape[next]
		}
		if filled != run {
			return nil, false
		}
	}
	return strides, next < 0
}
