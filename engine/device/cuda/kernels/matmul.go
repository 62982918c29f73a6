package kernels

import "github.com/memtop/memtop/engine/device"

// matMulArgs is a product, or the part of its batch that one launch computes.
type matMulArgs struct {
	C, A, B, Bias, Pre, SumA                       device.Array
	M, N, K, LDA, LDB, LDC                         int64
	First, Inner                                   int64
	OuterA, InnerA, OuterB, InnerB, OuterC, InnerC int64
	Alpha, Beta                                    float64
	TransA, TransB, Activation, Slope              int32
}

// maxGridZ is the most matrices of one launch.
const maxGridZ = 65535

// MatMul implements device.MatMuls.
func (c *Compute) MatMul(m device.MatMulPlan) {
	checkTypes("matmul", m.C.DType, m.A.DType, m.B.DType, m.Bias.DType, m.Pre.DType, m.SumA.DType)
	a := matMulArgs{
		C: m.C, A: m.A, B: m.B, Bias: m.Bias, Pre: m.Pre, M: int64(m.M), N: int64(m.N), K: int64(m.K),
		LDA: int64(m.LDA), LDB: int64(m.LDB), LDC: int64(m.LDC), Inner: int64(max(m.Batch, 1)), InnerA: int64(m.StrideA), InnerB: int64(m.StrideB),
		InnerC: int64(m.StrideC), Alpha: m.Alpha, Beta: m.Beta, TransA: flag(m.TransA), TransB: flag(m.TransB), Activation: -1,
	}
	if m.Activate {
		a.Activation, a.Slope = int32(m.Activation), flag(m.Slope)
	}
	if !m.SumA.Absent() {
		c.sumRows(&m.MatMul, &a)
	}
	c.multiplyFrom(a, 0, m.Batch)
}

// sumRows sums A's rows in the product if its kernel can do that, else in a
// separate launch.
func (c *Compute) sumRows(m *device.MatMul, a *matMulArgs) {
	k, _, _ := c.productKernel(a, 1)
	switch {
	case m.N > 0 && k >= TensorBfloatNn && k <= TensorHalfTt:
		a.SumA = m.SumA
	case m.K == 0:
		c.Fill(m.SumA, 0)
	default:
		c.Reduce(device.Sum, m.SumA, m.A, 1, m.K, m.M)
	}
}

// multiplyFrom launches a for count matrices of a batch from number first on.
func (c *Compute) multiplyFrom(a matMulArgs, first, count int) {
	if a.Alpha == 0 {
		a.Alpha = 1
	}
	k, tile, shared := c.productKernel(&a, count)
	blocks := ceil(int(a.M), tile) * ceil(int(a.N), tile)
	for end := first + count; first < end; first += maxGridZ {
		a.First = int64(first)
		launch(c, k, [3]uint32{uint32(blocks), 1, uint32(min(end-first, maxGridZ))}, blockThreads, shared, a)
	}
}

// The tiles of C that blocks compute, and the shared memory of the tensor cores'
// operands.
const (
	largeTile    = 128
	smallTile    = 64
	tensorShared = 3 * 2 * 128 * 32 * 2
	// manyTiles is how many tiles keep a large device busy; if there are fewer
	// large tiles, small ones are faster.
	manyTiles = 128
)

func (c *Compute) productKernel(a *matMulArgs, batch int) (k Kernel, tile int, shared uint32) {
	transposes := Kernel(2*a.TransA + a.TransB)
	switch {
	case a.A.DType == device.BFloat16 && a.B.DType == device.BFloat16:
		return TensorBfloatNn + transposes, largeTile, tensorShared
	case a.A.DType == device.Float16 && a.B.DType == device.Float16:
		return TensorHalfNn + transposes, largeTile, tensorShared
	case ceil(int(a.M), largeTile)*ceil(int(a.N), largeTile)*batch < manyTiles:
		return MatmulSmall, smallTile, 0
	}
	return Matmul, largeTile, 0
}
