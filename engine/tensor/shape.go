package tensor

import (
	"fmt"
	"slices"
	"strconv"
)

// Shape is the extent of every dimension, outermost first. The empty shape is
// that of a single number. It must not be changed once a tensor has it.
type Shape []int

// Size returns the number of elements, 1 for the empty shape.
func (s Shape) Size() int {
	n := 1
	for _, extent := range s {
		n *= extent
	}
	return n
}

// Equal says whether both have the same dimensions.
func (s Shape) Equal(o Shape) bool {
	return slices.Equal(s, o)
}

// Strides returns the elements from one index to the next in every dimension
// when the last one is the fastest and nothing is left out.
func (s Shape) Strides() []int {
	strides := make([]int, len(s))
	step := 1
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = step
		step *= s[i]
	}
	return strides
}

// Dim returns the number of a dimension that may be counted from the end: -1 is
// the last. It panics when there is no such dimension.
func (s Shape) Dim(d int) int {
	if d < -len(s) || d >= len(s) {
		panic(fmt.Sprintf("tensor: dimension %d of shape %v", d, s))
	}
	if d < 0 {
		return d + len(s)
	}
	return d
}

// Last returns the extent of the last dimension, 1 for the empty shape.
func (s Shape) Last() int {
	if len(s) == 0 {
		return 1
	}
	return s[len(s)-1]
}

// String shows the shape as "[2, 3]".
func (s Shape) String() string {
	text := make([]byte, 0, 24)
	text = append(text, '[')
	for i, extent := range s {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(text, int64(extent), 10)
	}
	return string(append(text, ']'))
}

// Broadcast returns the shape of an operation on a and b by the rule that NumPy
// and PyTorch share: dimensions are matched from the last, a missing one counts
// as 1, and 1 stretches to whatever the other has. It panics with both shapes
// when they do not go together.
func Broadcast(a, b Shape) Shape {
	out := make(Shape, max(len(a), len(b)))
	for i := range out {
		x, y := extentFromEnd(a, len(out)-i), extentFromEnd(b, len(out)-i)
		switch {
		case x == y || y == 1:
			out[i] = x
		case x == 1:
			out[i] = y
		default:
			panic(fmt.Sprintf("tensor: shapes %v and %v do not broadcast", a, b))
		}
	}
	return out
}

func extentFromEnd(s Shape, i int) int {
	if i > len(s) {
		return 1
	}
	return s[len(s)-i]
}
