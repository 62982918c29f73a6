package cuda

import (
	"errors"
	"math/bits"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
)

// productKind is everything that a product's plan depends on: all but the
// addresses and the factors.
type productKind struct {
	m, n, k                   int
	transA, transB            bool
	lda, ldb, ldc             int
	batch                     int
	strideA, strideB, strideC int
	operands, result          device.DType
	epilogue                  uint64
	alignA, alignB, alignC    uint32 // bytes
	alignBias, alignAux       uint32
	workspace                 int64
}

// plan is how a product is computed: the library's descriptors, and the algorithm that
// it expects to be fastest.
type plan struct {
	product, a, b, c uintptr
	algorithm        [8]uint64
}

// The numbers of cublasLt.h and library_types.h that are used.
const (
	real32, real16, realB16 = 0, 2, 14
	compute32               = 68

	descTransA, descTransB, descEpilogue, descBias = 3, 4, 7, 8
	descAux, descAuxLeading                        = 11, 12

	epilogueDefault, epilogueReLU, epilogueBias = 1, 2, 4
	epilogueSlope, epilogueAux                  = 64, 128 // of GELU, together
	epilogueSumB                                = 512     // alone

	layoutBatch, layoutStride                      = 5, 6
	preferWorkspace, preferReduction, preferAlignA = 1, 3, 5 // B, C and D follow A
	reductionInComputeType                         = 2

	blasUnsupported = 15
)

var blasTypes = map[device.DType]uintptr{
	device.Float32: real32, device.Float16: real16, device.BFloat16: realB16,
}

// kindOf returns the kind of a product, and whether the library supports it:
// both operands of one type, the result of that type or float32, and an epilogue that
// it has.
func (b *blas) kindOf(m *device.MatMul) (productKind, bool) {
	epilogue, ok := epilogueOf(m)
	switch {
	case !ok, m.A.DType != m.B.DType:
		return productKind{}, false
	case m.A.DType == device.Float64, m.C.DType != m.A.DType && m.C.DType != device.Float32:
		return productKind{}, false
	}
	return productKind{
		m: m.M, n: m.N, k: m.K, transA: m.TransA, transB: m.TransB, lda: m.LDA, ldb: m.LDB, ldc: m.LDC,
		batch: m.Batch, strideA: m.StrideA, strideB: m.StrideB, strideC: m.StrideC,
		operands: m.A.DType, result: m.C.DType, epilogue: epilogue,
		alignA: alignment(m.A.Addr), alignB: alignment(m.B.Addr), alignC: alignment(m.C.Addr),
		alignBias: alignment(biasOf(m).Addr), alignAux: alignment(m.Pre.Addr),
		workspace: b.workspace.Bytes,
	}, true
}

// biasOf returns the library's bias argument: the bias of the result, or the
// sums.
func biasOf(m *device.MatMul) device.Array {
	if !m.SumA.Absent() {
		return m.SumA
	}
	return m.Bias
}

// epilogueOf returns what the library does after a product, and whether it can. Its
// vectors and Pre have the result's type. Forward it has ReLU alone: a GELU that a
// checkpoint computes again by itself would have other bits. The slope of GELU by
// tanh is good to 16 bits.
func epilogueOf(m *device.MatMul) (uint64, bool) {
	vector, kind := biasOf(m), m.C.DType
	if !vector.Absent() && vector.DType != kind {
		return 0, false
	}
	if !m.SumA.Absent() {
		return epilogueSumB, m.Bias.Absent() && !m.Activate && m.Pre.Absent()
	}
	epilogue := uint64(0)
	if !m.Bias.Absent() {
		epilogue |= epilogueBias
	}
	switch {
	case !m.Activate:
		return max(epilogue, epilogueDefault), m.Pre.Absent()
	case m.Activation == device.ReLU && m.Pre.Absent():
		return epilogue | epilogueReLU, true
	case !m.Slope || m.Activation != device.GELUTanh || kind.Size() != 2:
		return 0, false
	}
	return epilogueSlope | epilogueAux, m.Pre.DType == kind && m.LDC%8 == 0 && m.Batch == 1 && m.Beta == 0 && m.Bias.Absent()
}

// alignment returns the largest power of two that divides an address, at most
// 256.
func alignment(addr uint64) uint32 {
	return 1 << min(bits.TrailingZeros64(addr), 8)
}

// planOf returns the plan for a kind of product, nil when the library has no
// algorithm for it.
func (b *blas) planOf(k productKind, m *device.MatMul) (*plan, error) {
	if p, ok := b.plans[k]; ok {
		return p, nil
	}
	p := new(plan)
	err := p.describe(b, k)
	if err == nil {
		err = p.point(b, m) // the library looks at the alignment
	}
	if err == nil {
		err = p.choose(b, k)
	}
	if err != nil {
		p.close(b)
		var status *BLASError
		if !errors.As(err, &status) || status.Status != blasUnsupported {
			return nil, err
		}
		p = nil
	}
	b.plans[k] = p
	return p, nil
}

// describe makes the descriptors, with the operands swapped.
func (p *plan) describe(b *blas, k productKind) (err error) {
	if p.product, err = b.create(ltDescCreate, compute32, real32); err != nil {
		return err
	}
	err = errors.Join(
		b.set(ltDescSet, p.product, descTransA, flag(k.transB), 4),
		b.set(ltDescSet, p.product, descTransB, flag(k.transA), 4))
	if err == nil {
		err = b.set(ltDescSet, p.product, descEpilogue, k.epilogue, 4)
	}
	if k.epilogue&epilogueAux != 0 && err == nil {
		err = b.set(ltDescSet, p.product, descAuxLeading, uint64(k.ldc), 8)
	}
	if err != nil {
		return err
	}
	for _, l := range []struct {
		at             *uintptr
		dtype          device.DType
		rows, cols, ld int
		transposed     bool
		stride         int
	}{
		{&p.a, k.operands, k.n, k.k, k.ldb, k.transB, k.strideB},
		{&p.b, k.operands, k.k, k.m, k.lda, k.transA, k.strideA},
		{&p.c, k.result, k.n, k.m, k.ldc, false, k.strideC},
	} {
		if l.transposed {
			l.rows, l.cols = l.cols, l.rows
		}
		if *l.at, err = b.layout(l.dtype, l.rows, l.cols, l.ld, k.batch, l.stride); err != nil {
			return err
		}
	}
	return nil
}

// point sets the addresses that the epilogue of a product needs.
func (p *plan) point(b *blas, m *device.MatMul) error {
	var err error
	if v := biasOf(m); !v.Absent() {
		err = b.set(ltDescSet, p.product, descBias, v.Addr, 8)
	}
	if !m.Pre.Absent() {
		err = errors.Join(err, b.set(ltDescSet, p.product, descAux, m.Pre.Addr, 8))
	}
	return err
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// layout describes a batch of matrices stored by columns.
func (b *blas) layout(t device.DType, rows, cols, ld, batch, stride int) (uintptr, error) {
	l, err := b.create(ltLayoutCreate, blasTypes[t], uintptr(rows), uintptr(cols), uintptr(ld))
	if err != nil || batch == 1 {
		return l, err
	}
	return l, errors.Join(b.set(ltLayoutSet, l, layoutBatch, uint64(batch), 4), b.set(ltLayoutSet, l, layoutStride, uint64(stride), 8))
}

// choose asks the library for its best algorithm whose parts of a sum, where it
// divides one, are kept in the type that the product is computed in and added in
// a step of their own. See "Order of sums" in blas.go.
func (p *plan) choose(b *blas, k productKind) error {
	preference, err := b.create(ltPreferenceCreate)
	if err != nil {
		return err
	}
	err = errors.Join(
		b.set(ltPreferenceSet, preference, preferWorkspace, uint64(k.workspace), 8),
		b.set(ltPreferenceSet, preference, preferReduction, reductionInComputeType, 4))
	for i, align := range []uint32{k.alignB, k.alignA, k.alignC, k.alignC} {
		err = errors.Join(err, b.set(ltPreferenceSet, preference, preferAlignA+i, uint64(align), 4))
	}
	w := b.words
	w.found = 0
	if err == nil {
		err = b.do(ltHeuristic, b.handle, p.product, p.a, p.b, p.c, p.c, preference, 1,
			uintptr(unsafe.Pointer(&w.heuristic)), uintptr(unsafe.Pointer(&w.found)))
	}
	h := &w.heuristic
	p.algorithm = h.algorithm
	if err == nil && (w.found == 0 || h.state != 0 || h.workspace > uint64(k.workspace)) {
		err = &BLASError{ltHeuristic.String(), blasUnsupported}
	}
	return errors.Join(err, b.do(ltPreferenceDestroy, preference))
}

func (p *plan) close(b *blas) {
	if p == nil {
		return
	}
	for _, l := range []uintptr{p.a, p.b, p.c} {
		if l != 0 {
			_ = b.do(ltLayoutDestroy, l) // nothing depends on it any more
		}
	}
	if p.product != 0 {
		_ = b.do(ltDescDestroy, p.product)
	}
}
