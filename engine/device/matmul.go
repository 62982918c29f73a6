package device

import "fmt"

// MatMul describes C = act(alpha·op(A)·op(B) + beta·C + bias) for a batch of
// matrices. Storage is row-major; op is the transpose where asked for. A, B and
// C are floating-point of any types; products are summed in float32 (float64
// when all three are float64), in an order fixed by K alone.
type MatMul struct {
	C, A, B Array
	// op(A) is M×K, op(B) is K×N, C is M×N.
	M, N, K int
	// TransA says that A is stored K×M, TransB that B is stored N×K, as the
	// weight of a linear layer is.
	TransA, TransB bool
	// Elements from one stored row to the next; 0 means contiguous rows.
	LDA, LDB, LDC int
	// Batch is the number of matrices, 0 meaning 1. StrideA and StrideB are the
	// elements from one to the next, where 0 uses the same matrix every time;
	// StrideC 0 means M rows.
	Batch                     int
	StrideA, StrideB, StrideC int
	// Alpha scales the product; 0 means 1. Beta scales the old C, which is not read
	// when Beta is 0.
	Alpha, Beta float64
	// Bias, when given, has N elements, added to every row.
	Bias Array
	// Activation is applied last when Activate is set; its EndsProduct must be true.
	// Pre, when given, gets the rounded value before the activation, laid out as C
	// is, and the activation uses that value: the bits are those of Unary on Pre.
	// With Slope the operation reads Pre, and multiplies the rounded product by the
	// activation's derivative at Pre: the bits are those of UnaryBackward on Pre and
	// the product.
	Activate   bool
	Activation UnaryOp
	Slope      bool
	Pre        Array
	// SumA, when given, gets the sum of each row of op(A), M elements: of A = dyᵀ the
	// gradient of a bias. A is transposed, contiguous and one matrix.
	SumA Array
}

// Normalized returns m with defaults in place of a zero batch, factor and
// strides. StrideA and StrideB stay 0 if one matrix serves the whole batch.
func (m MatMul) Normalized() MatMul {
	rows := func(stride *int, transposed bool, rows, cols int) {
		if *stride == 0 {
			*stride = cols
			if transposed {
				*stride = rows
			}
		}
	}
	rows(&m.LDA, m.TransA, m.M, m.K)
	rows(&m.LDB, m.TransB, m.K, m.N)
	rows(&m.LDC, false, m.M, m.N)
	if m.Batch == 0 {
		m.Batch = 1
	}
	if m.StrideC == 0 {
		m.StrideC = m.M * m.LDC
	}
	if m.Alpha == 0 {
		m.Alpha = 1
	}
	return m
}

// MatMulPlan is a checked MatMul in which defaults replace the zeros.
type MatMulPlan struct {
	MatMul
	Compute DType // Float64 when A, B and C are, else Float32
}

// Wide reports whether it is computed in float64.
func (p *MatMulPlan) Wide() bool { return p.Compute == Float64 }

// Plan checks that every operand is large enough for the product, and panics
// otherwise.
func (m MatMul) Plan() MatMulPlan {
	const name = "matmul"
	CheckFloat(name, m.C.DType, m.A.DType, m.B.DType, m.Bias.DType, m.Pre.DType, m.SumA.DType)
	m = m.Normalized()
	if m.M < 0 || m.N < 0 || m.K < 0 || m.Batch < 0 {
		panic(fmt.Sprintf("device: matmul: %d×%d×%d, batch %d", m.M, m.N, m.K, m.Batch))
	}
	if m.Activate && !m.Activation.EndsProduct() {
		panic(fmt.Sprintf("device: matmul: %v cannot end a product", m.Activation))
	}
	if m.Slope && (!m.Activate || m.Pre.Absent()) {
		panic("device: matmul: the slope of no activation")
	}
	if !m.SumA.Absent() && (!m.TransA || m.LDA != m.M || m.Batch != 1) {
		panic(fmt.Sprintf("device: matmul: sums of A of %d matrices, transposed %v, rows %d apart", m.Batch, m.TransA, m.LDA))
	}
	CheckOptional(name, "bias", m.Bias, m.N)
	CheckOptional(name, "sums of A", m.SumA, m.M)
	m.check("A", m.A, m.TransA, m.M, m.K, m.LDA, m.StrideA)
	m.check("B", m.B, m.TransB, m.K, m.N, m.LDB, m.StrideB)
	m.check("C", m.C, false, m.M, m.N, m.LDC, m.StrideC)
	if !m.Pre.Absent() {
		m.check("Pre", m.Pre, false, m.M, m.N, m.LDC, m.StrideC)
	}
	return MatMulPlan{m, ComputeType(m.C.DType, m.A.DType, m.B.DType)}
}

func (m *MatMul) check(name string, a Array, transposed bool, rows, cols, stride, step int) {
	if transposed {
		rows, cols = cols, rows
	}
	if stride < cols {
		panic(fmt.Sprintf("device: matmul: rows of %s have %d elements, %d apart", name, cols, stride))
	}
	if rows != 0 && cols != 0 && m.Batch != 0 {
		CheckReach("matmul", name, a, (m.Batch-1)*step+(rows-1)*stride+cols)
	}
}

// MatMuls has the matrix product.
type MatMuls interface {
	// MatMul computes a product. Gradients are MatMul again: dA = dC·Bᵀ,
	// dB = Aᵀ·dC, and the bias's by Reduce over rows or by SumA.
	MatMul(p MatMulPlan)
}
