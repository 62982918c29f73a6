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

// ParseDType is the inverse of DType.String. It also takes the short names
// f32, f64, bf16, f16, i8, u8, i32, i64, and half, float, double.
func ParseDType(name string) (DType, error) {
	for d := range dtypeCount {
		if dtypes[d].name == name {
			return d, nil
		}
	}
	if d, ok := shortNames[name]; ok {
		return d, nil
	}
	return 0, fmt.Errorf("unknown element type %q", name)
}

var shortNames = map[string]DType{
	"f32": Float32, "float": Float32, "f64": Float64, "double": Float64,
	"bf16": BFloat16, "f16": Float16, "fp16": Float16, "half": Float16,
	"i8": Int8, "u8": UInt8, "i32": Int32, "i64": Int64,
}
