package device

import "fmt"

// DType is the type of the elements of an Array. The zero value is Float32.
type DType uint8

// The element types. Float64 exists for gradient checks.
const (
	Float32 DType = iota
	Float64
	BFloat16
	Float16
	Int8
	UInt8
	Int32
	Int64
	dtypeCount
)

var dtypes = [dtypeCount]struct {
	name string
	size int64
}{
	Float32:  {"float32", 4},
	Float64:  {"float64", 8},
	BFloat16: {"bfloat16", 2},
	Float16:  {"float16", 2},
	Int8:     {"int8", 1},
	UInt8:    {"uint8", 1},
	Int32:    {"int32", 4},
	Int64:    {"int64", 8},
}

// String returns PyTorch's name of the type without "torch.", such as
// "bfloat16".
func (d DType) String() string {
	if d >= dtypeCount {
		return fmt.Sprintf("DType(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Size returns the bytes of one element.
func (d DType) Size() int64 {
	return dtypes[d].size
}

// IsFloat says whether elements are floating-point numbers.
func (d DType) IsFloat() bool {
	return d <= Float16
}
