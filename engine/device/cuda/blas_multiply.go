package cuda

import (
	"math"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
)

// multiply queues a product on a stream, and reports whether the library can do
// it. The product must come from a device.MatMulPlan.
func (b *blas) multiply(m *device.MatMul, stream uintptr) (bool, error) {
	k, ok := b.kindOf(m)
	if !ok {
		return false, nil
	}
	p, err := b.planOf(k, m)
	if p == nil || err != nil {
		return false, err
	}
	if err := p.point(b, m); err != nil {
		return false, err
	}
	return true, b.run(p, m, stream)
}

// run queues a product by its plan, which points to m's arrays.
func (b *blas) run(p *plan, m *device.MatMul, stream uintptr) error {
	w := b.words
	setFactor(&w.alpha, m.Alpha, m.A.DType)
	setFactor(&w.beta, m.Beta, m.A.DType)
	b.args = [16]uintptr{
		b.handle, p.product, uintptr(unsafe.Pointer(&w.alpha)), uintptr(m.B.Addr), p.a, uintptr(m.A.Addr), p.b,
		uintptr(unsafe.Pointer(&w.beta)), uintptr(m.C.Addr), p.c, uintptr(m.C.Addr), p.c,
		uintptr(unsafe.Pointer(&p.algorithm)), uintptr(b.workspace.Addr), uintptr(b.workspace.Bytes), stream,
	}
	return b.do(ltMatmul, b.args[:]...)
}

// setFactor stores a factor in the type that the product is computed in.
func setFactor(to *[2]float32, v float64, t device.DType) {
	if t == device.Float64 {
		bits := math.Float64bits(v)
		to[0], to[1] = math.Float32frombits(uint32(bits)), math.Float32frombits(uint32(bits>>32))
		return
	}
	to[0] = float32(v)
}
