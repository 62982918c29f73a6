package device

import "fmt"

// UnaryOp names a function of one number.
type UnaryOp uint8

// The functions, f(x), and their derivatives as UnaryBackward uses them.
const (
	Neg      UnaryOp = iota // -x
	Exp                     // e^x
	Log                     // ln x
	Sqrt                    // √x
	Rsqrt                   // 1/√x
	Square                  // x²
	Abs                     // |x|, derivative 0 at 0
	Sigmoid                 // 1/(1+e^-x)
	Tanh                    // tanh x
	ReLU                    // max(x, 0), derivative 0 at 0; NaN stays NaN
	GELU                    // x·Φ(x), Φ the normal distribution's, by erf
	GELUTanh                // x/2·(1+tanh(√(2/π)·(x+0.044715·x³)))
	SiLU                    // x/(1+e^-x)
	unaryCount
)

// unaryOps has the functions' names, and whether a product may end with the
// function.
var unaryOps = [unaryCount]struct {
	name string
	ends bool
}{
	Neg: {name: "neg"}, Exp: {name: "exp"}, Log: {name: "log"}, Sqrt: {name: "sqrt"}, Rsqrt: {name: "rsqrt"},
	Square: {name: "square"}, Abs: {name: "abs"}, Sigmoid: {name: "sigmoid"}, Tanh: {name: "tanh"},
	ReLU: {"relu", true}, GELU: {"gelu", true}, GELUTanh: {"gelu_tanh", true}, SiLU: {"silu", true},
}

// String returns the function's name in lower case, such as "gelu_tanh".
func (op UnaryOp) String() string {
	if op >= unaryCount {
		return fmt.Sprintf("UnaryOp(%d)", uint8(op))
	}
	return unaryOps[op].name
}

// Check panics unless there is such a function.
func (op UnaryOp) Check(operation string) { checkNumber(operation, op, unaryCount) }

// EndsProduct reports whether the function can be a MatMul's Activation.
func (op UnaryOp) EndsProduct() bool { return op < unaryCount && unaryOps[op].ends }

// UnaryOps returns every function, for tables in tests.
func UnaryOps() []UnaryOp { return allOf(unaryCount) }

// BinaryOp names a function of two numbers.
type BinaryOp uint8

// The functions of two numbers.
const (
	Add BinaryOp = iota // a + b
	Sub                 // a − b
	Mul                 // a · b
	Div                 // a / b
	binaryCount
)

// Check panics unless there is such a function.
func (op BinaryOp) Check(operation string) { checkNumber(operation, op, binaryCount) }

// Elementwise has the operations that compute each element independently.
// Operands are floating-point; types may differ from operand to operand.
type Elementwise interface {
	// Fill sets every element to value, converted to dst's type. It also takes
	// the integer types.
	Fill(dst Array, value float64)
	// Cast converts src to dst's type, any type to any. Floats become integers by
	// truncation toward zero; values out of range are clamped, NaN becomes 0.
	Cast(dst, src Array)
	// Unary sets dst = f(x).
	Unary(op UnaryOp, dst, x Array)
	// UnaryBackward sets dx = dy · f'(x).
	UnaryBackward(op UnaryOp, dx, x, dy Array)
	// Binary sets dst[i] = a[i] op b[i mod b.Len]. b.Len divides a.Len, so b is
	// broadcast over leading dimensions. The gradient of b is Reduce with Sum.
	Binary(op BinaryOp, dst, a, b Array)
	// AddScaled sets dst = a + alpha·b, all of one length. With dst = a it
	// accumulates gradients, into float32 from any type.
	AddScaled(dst, a, b Array, alpha float64)
	// Scale sets dst = factor·x.
	Scale(dst, x Array, factor float64)
	// ScaleBy sets dst = factor·x with a factor that is in device memory: one
	// element, float32 or float64.
	ScaleBy(dst, x, factor Array)
}
