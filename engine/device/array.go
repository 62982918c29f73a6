package device

import "fmt"

// Buffer is a range of device memory: Bytes bytes from Addr. It owns nothing.
type Buffer struct {
	Addr  uint64
	Bytes int64
}

// Array is a contiguous run of Len elements in device memory. It is a plain
// value that owns nothing. The zero value is "absent" for operations with
// optional operands.
type Array struct {
	Addr  uint64
	Len   int // in elements
	DType DType
}

// ArrayOf returns the array of n elements of type d at the start of b. It
// panics when they do not fit.
func ArrayOf(b Buffer, d DType, n int) Array {
	if int64(n)*d.Size() > b.Bytes {
		panic(fmt.Sprintf("device: %d elements of %v do not fit in %d bytes", n, d, b.Bytes))
	}
	return Array{Addr: b.Addr, Len: n, DType: d}
}

// Absent says that an optional operand was not given.
func (a Array) Absent() bool {
	return a.Addr == 0
}

// Buffer returns the memory that a lies in.
func (a Array) Buffer() Buffer {
	return Buffer{Addr: a.Addr, Bytes: int64(a.Len) * a.DType.Size()}
}

// Slice returns n elements of a from element start on. It panics when a does
// not have them.
func (a Array) Slice(start, n int) Array {
	if start < 0 || n < 0 || start+n > a.Len {
		panic(fmt.Sprintf("device: slice [%d:%d] of %v", start, start+n, a))
	}
	return Array{Addr: a.Addr + uint64(int64(start)*a.DType.Size()), Len: n, DType: a.DType}
}

// String shows the array for messages, such as "float32[12] at 0x7f00".
func (a Array) String() string {
	if a.Absent() {
		return "absent"
	}
	return fmt.Sprintf("%v[%d] at %#x", a.DType, a.Len, a.Addr)
}

// Strided is a view into device memory for CopyStrided: the element with index
// (i0, i1, …) is Base[i0·Strides[0] + i1·Strides[1] + …]. Strides are in
// elements; 0 repeats an element, negative ones are not allowed.
type Strided struct {
	Base    Array
	Strides []int
}
