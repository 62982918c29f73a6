package cuda

import (
	"errors"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// Backend computes on the device, in the order of the calls. The queue does the
// transfers, cuBLASLt the products that it supports, and kernels the rest. It
// belongs to one goroutine at a time.
type Backend struct {
	*queue
	*kernels.Compute
}

var _ device.Backend = (*Backend)(nil)

// start allocates the kernels' own memory and loads the module that takes the
// driver the least time, so that opening a device fails if the driver is too old.
func (b *Backend) start() error {
	scratch, err := b.reserveOwn()
	if err != nil {
		return err
	}
	b.Compute = kernels.NewCompute(b.queue, scratch, b.failure.Addr)
	return b.modules.load(kernels.Smallest)
}

// MatMul implements device.MatMuls.
func (b *Backend) MatMul(m device.MatMulPlan) {
	if lt := b.device.blas; lt != nil && b.err == nil {
		if b.byLibrary(lt, &m.MatMul) {
			return
		}
		if plain, ok := withoutEpilogue(m.MatMul); ok && b.byLibrary(lt, &plain) {
			b.epilogue(&m.MatMul, &plain)
			return
		}
	}
	b.Compute.MatMul(m)
}

// byLibrary lets the library compute a product. It reports whether the library
// computed it, or failed.
func (b *Backend) byLibrary(lt *blas, m *device.MatMul) bool {
	done, err := b.device.multiply(lt, m)
	return b.keep(err) || done
}

// withoutEpilogue returns a product without its activation and sums, which kernels can
// compute from its result: a contiguous one that needs no other memory for it.
func withoutEpilogue(m device.MatMul) (device.MatMul, bool) {
	plain := m
	plain.SumA, plain.Activate, plain.Slope, plain.Pre = device.Array{}, false, false, device.Array{}
	if !m.Activate {
		return plain, !m.SumA.Absent() && m.Pre.Absent() && m.K > 0
	}
	if !m.Slope && !m.Pre.Absent() {
		plain.C = m.Pre
	}
	return plain, m.LDC == m.N && m.StrideC == m.M*m.N && (m.Beta == 0 || plain.C == m.C)
}

// epilogue computes the parts that withoutEpilogue has left out.
func (b *Backend) epilogue(m, plain *device.MatMul) {
	n := m.Batch * m.M * m.N
	switch {
	case m.Slope:
		b.UnaryBackward(m.Activation, m.C.Slice(0, n), m.Pre.Slice(0, n), m.C.Slice(0, n))
	case m.Activate:
		b.Unary(m.Activation, m.C.Slice(0, n), plain.C.Slice(0, n))
	}
	if !m.SumA.Absent() {
		b.Reduce(device.Sum, m.SumA, m.A, 1, m.K, m.M)
	}
}

// multiply queues a product with the device's context.
func (d *Device) multiply(lt *blas, m *device.MatMul) (bool, error) {
	defer d.leave()
	if err := d.enter(); err != nil {
		return false, err
	}
	return lt.multiply(m, d.compute)
}

// reserveOwn allocates the memory that kernels need beside their operands. It
// comes from the driver, not the allocator, so that the allocator's events are
// those of the model and the same on every device.
func (q *queue) reserveOwn() (scratch device.Buffer, err error) {
	for _, part := range []struct {
		at    *device.Buffer
		bytes int64
	}{{&q.scratch, kernels.ScratchBytes}, {&q.failure, kernels.FailureBytes}} {
		addr, err := q.device.words(cuMemAlloc, uintptr(part.bytes))
		if err != nil {
			return scratch, err
		}
		*part.at = device.Buffer{Addr: addr, Bytes: part.bytes}
	}
	return q.scratch, q.clearFailure()
}

func (q *queue) clearFailure() error {
	return q.device.in(cuMemsetD8Async, uintptr(q.failure.Addr), 0, uintptr(q.failure.Bytes), q.compute)
}

// Synchronize implements device.Transfers.
func (q *queue) Synchronize() error {
	asks := q.err == nil && q.failure.Addr != 0
	if asks {
		q.keep(q.device.in(cuMemcpyDtoHAsync, q.report.addr, uintptr(q.failure.Addr), kernels.FailureBytes, q.compute))
	}
	q.keep(q.device.in(cuStreamSynchronize, q.compute))
	if asks && q.err == nil {
		if err := kernels.Failure(q.report.bytes); err != nil {
			q.keep(err)
			q.keep(q.clearFailure())
		}
	}
	return q.take()
}

// releaseOwn frees the memory of reserveOwn.
func (q *queue) releaseOwn() error {
	var errs []error
	for _, b := range []device.Buffer{q.scratch, q.failure} {
		if b.Addr != 0 {
			errs = append(errs, q.device.in(cuMemFree, uintptr(b.Addr)))
		}
	}
	return errors.Join(errs...)
}
