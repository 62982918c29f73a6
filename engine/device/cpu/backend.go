package cpu

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// Backend implements device.Backend. It belongs to one goroutine at a time, and
// every operation has run when its call returns.
type Backend struct {
	memory  *Memory
	pool    *pool
	product simd.Product
	pairs   simd.Product // of bfloat16 numbers; Run is nil if the processor has none
	jobs    jobs
	host    *Backend // nil until OpenHost

	failure sync.Mutex // guards err, which workers set
	err     error
}

var _ device.Backend = (*Backend)(nil)

// jobs holds one value of every kind of job, used again for each operation, so
// that handing it to the pool allocates nothing.
type jobs struct {
	fill       fillJob
	cast       castJob
	unary      unaryJob
	binary     binaryJob
	scale      scaleJob
	strided    stridedJob
	reduce     reduceJob
	squares    squaresJob
	norm       normJob
	normGrad   normGradJob
	softmax    softmaxJob
	entropy    entropyJob
	gather     gatherJob
	scatter    scatterJob
	random     randomJob
	packB      packJob
	tiles      tilesJob
	matrices   matricesJob
	wide       wideJob
	attention  attentionJob
	attendGrad attentionGradJob
	conv       convJob
	places     placesJob
	update     updateJob
	finite     finiteJob
}

func newBackend(m *Memory, threads int) *Backend {
	b := &Backend{memory: m, pool: newPool(threads), product: simd.Best()}
	b.pairs, _ = simd.Pairs()
	return b
}

// fail keeps the first failure for Synchronize.
func (b *Backend) fail(format string, arguments ...any) {
	b.failure.Lock()
	defer b.failure.Unlock()
	if b.err == nil {
		b.err = fmt.Errorf("cpu: "+format, arguments...)
	}
}

// Synchronize returns the first failure, and again at every later call.
func (b *Backend) Synchronize() error {
	b.failure.Lock()
	defer b.failure.Unlock()
	return b.err
}

// Upload implements device.Transfers.
func (b *Backend) Upload(dst device.Buffer, src []byte) {
	copy(b.bytes("upload", dst, int64(len(src))), src)
}

// Download implements device.Transfers.
func (b *Backend) Download(dst []byte, src device.Buffer) error {
	copy(dst, b.bytes("download", src, int64(len(dst))))
	return b.Synchronize()
}

// Fetch implements device.Transfers. The value is there when it returns.
func (b *Backend) Fetch(src device.Buffer) device.Fetched {
	return &fetched{b, append([]byte(nil), b.bytes("fetch", src, src.Bytes)...)}
}

type fetched struct {
	backend *Backend
	value   []byte
}

func (*fetched) Ready() bool { return true }

func (f *fetched) Wait(dst []byte) error {
	copy(dst, f.value)
	return f.backend.Synchronize()
}

// Copy implements device.Transfers.
func (b *Backend) Copy(dst, src device.Buffer) {
	copy(b.bytes("copy", dst, src.Bytes), b.bytes("copy", src, src.Bytes))
}

func (b *Backend) bytes(operation string, at device.Buffer, n int64) []byte {
	if n > at.Bytes {
		panic(fmt.Sprintf("cpu: %s: %d bytes of a buffer of %d", operation, n, at.Bytes))
	}
	if n == 0 {
		return nil
	}
	p, ok := b.memory.pointer(at.Addr, n)
	if !ok {
		panic(fmt.Sprintf("cpu: %s: %d bytes at %#x: no memory there", operation, n, at.Addr))
	}
	return unsafe.Slice((*byte)(p), n)
}

// view resolves an operand that must have n elements.
func (b *Backend) view(operation, name string, a device.Array, n int) view {
	device.CheckLen(operation, name, a, n)
	return b.resolve(a)
}

// resolve finds an operand in memory; one of no elements is an absent view.
func (b *Backend) resolve(a device.Array) view {
	if a.Len == 0 {
		return view{kind: a.DType}
	}
	p, ok := b.memory.pointer(a.Addr, int64(a.Len)*a.DType.Size())
	if !ok {
		panic(fmt.Sprintf("cpu: %v: no memory there", a))
	}
	return view{p, a.Len, a.DType}
}
