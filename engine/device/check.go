package device

import (
	"fmt"
	"slices"
)

// The checks that operations share. A failed check panics with the values that it
// was given.

// CheckLen wants a of n elements.
func CheckLen(operation, name string, a Array, n int) {
	if a.Len != n {
		panic(fmt.Sprintf("device: %s: %s has %d elements, want %d", operation, name, a.Len, n))
	}
}

// CheckOptional is CheckLen for an operand that may be absent.
func CheckOptional(operation, name string, a Array, n int) {
	if !a.Absent() {
		CheckLen(operation, name, a, n)
	}
}

// CheckReach wants a of n elements or more.
func CheckReach(operation, name string, a Array, n int) {
	if a.Len < n || n < 0 {
		panic(fmt.Sprintf("device: %s: %s has %d elements, want at least %d", operation, name, a.Len, n))
	}
}

// CheckFloat wants floating-point types.
func CheckFloat(operation string, kinds ...DType) {
	for _, kind := range kinds {
		if !kind.IsFloat() {
			panic(fmt.Sprintf("device: %s: operand of type %v, want a floating-point type", operation, kind))
		}
	}
}

// CheckIndex wants a type for row numbers.
func CheckIndex(operation string, kind DType) {
	if kind != Int32 && kind != Int64 {
		panic(fmt.Sprintf("device: %s: indexes of type %v, want int32 or int64", operation, kind))
	}
}

// CheckScalar wants one float32.
func CheckScalar(operation, name string, a Array) {
	if a.DType != Float32 || a.Len != 1 {
		panic(fmt.Sprintf("device: %s: %s is %v, want one float32", operation, name, a))
	}
}

// CheckFlag wants a FoundInf: absent or one float32.
func CheckFlag(operation string, a Array) {
	if !a.Absent() {
		CheckScalar(operation, "found inf", a)
	}
}

// checkWork wants scratch of n bytes or more.
func checkWork(operation string, b Buffer, n int64) {
	if b.Bytes < n {
		panic(fmt.Sprintf("device: %s: %d bytes of workspace, want %d", operation, b.Bytes, n))
	}
}

// checkNumber wants one of the first count operations of a list.
func checkNumber[T ~uint8](operation string, number, count T) {
	if number >= count {
		panic(fmt.Sprintf("device: %s: there is no operation %d", operation, number))
	}
}

// allOf returns the first count operations of a list.
func allOf[T ~uint8](count T) []T {
	all := make([]T, count)
	for i := range all {
		all[i] = T(i)
	}
	return all
}

// ComputeType is the type that an operation computes in: float64 when all its
// floating-point operands are, else float32.
func ComputeType(kinds ...DType) DType {
	for _, kind := range kinds {
		if kind != Float64 {
			return Float32
		}
	}
	return Float64
}

// Wide reports whether ComputeType is float64.
func Wide(kinds ...DType) bool { return ComputeType(kinds...) == Float64 }

// MaxDims is the number of dimensions that a strided copy may have at the most.
const MaxDims = 8

// CheckStrided checks a copy between two views of one shape. It returns false when there
// is nothing to copy.
func CheckStrided(dst, src Strided, shape []int) bool {
	const name = "copy strided"
	if dst.Base.DType != src.Base.DType {
		panic(fmt.Sprintf("device: %s: from %v to %v", name, src.Base.DType, dst.Base.DType))
	}
	if len(shape) > MaxDims || len(dst.Strides) != len(shape) || len(src.Strides) != len(shape) {
		panic(fmt.Sprintf("device: %s: shape %v with strides %v and %v", name, shape, dst.Strides, src.Strides))
	}
	if slices.Contains(shape, 0) {
		return false
	}
	CheckReach(name, "dst", dst.Base, dst.extent(shape))
	CheckReach(name, "src", src.Base, src.extent(shape))
	return true
}

// extent returns the elements from the first to the last that a view reaches.
func (s Strided) extent(shape []int) int {
	last := 0
	for i, n := range shape {
		if s.Strides[i] < 0 {
			panic(fmt.Sprintf("device: copy strided: negative stride in %v", s.Strides))
		}
		last += (n - 1) * s.Strides[i]
	}
	return last + 1
}

// CheckDropout checks a mask, which may be absent, and a probability.
func CheckDropout(operation string, mask Array, n int, p float64) {
	CheckOptional(operation, "mask", mask, n)
	if !mask.Absent() && mask.DType != UInt8 {
		panic(fmt.Sprintf("device: %s: mask of type %v, want uint8", operation, mask.DType))
	}
	if p < 0 || p >= 1 {
		panic(fmt.Sprintf("device: %s: probability %v, want one in [0, 1)", operation, p))
	}
}
