package cuda

import (
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
	w.alpha, w.beta = float32(m.Alpha), float32(m.Beta)
	b.args = [16]uintptr{
		b.handle, p.product, uintptr(unsafe.Pointer(&w.alpha)), uintptr(m.B.Addr), p.a, uintptr(m.A.Addr), p.b,
		uintptr(unsafe.Pointer(&w.beta)), uintptr(m.C.Addr), p.c, uintptr(m.C.Addr), p.c,
		uintptr(unsafe.Pointer(&p.algorithm)), uintptr(b.workspace.Addr), uintptr(b.workspace.Bytes), stream,
	}
	return b.do(ltMatmul, b.args[:]...)
}
