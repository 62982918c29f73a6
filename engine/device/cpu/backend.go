package cpu

import (
	"fmt"
	"sync"
	"unsafe"

	"memtop/engine/device"
	"memtop/engine/device/cpu/simd"
)

// Backend computes. It belongs to one goroutine at a time, and every operation
// has run when its call returns.
type Backend struct {
	memory  *Memory
	pool    *pool
	product simd.Product
	jobs    jobs
	conv    conv // the convolution at work

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
	normParams normParamsJob
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
	unfold     unfoldJob
	fold       foldJob
	channel    channelJob
	update     updateJob
	update8    update8Job
	finite     finiteJob
}

func newBackend(m *Memory, threads int) *Backend {
	return &Backend{memory: m, pool: newPool(threads), product: simd.Best()}
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

// view resolves an operand that must have n elements. An operand that is
// absent gives an absent view when optional says that it may be.
func (b *Backend) view(operation, name string, a device.Array, n int) view {
	if a.Len != n {
		panic(fmt.Sprintf("cpu: %s: %s has %d elements, want %d", operation, name, a.Len, n))
	}
	return b.prefix(operation, name, a, n)
}

// prefix resolves an operand of which the first n elements are used.
func (b *Backend) prefix(operation, name string, a device.Array, n int) view {
	if a.Len < n || n < 0 {
		panic(fmt.Sprintf("cpu: %s: %s has %d elements, want at least %d", operation, name, a.Len, n))
	}
	if n == 0 {
		return view{kind: a.DType}
	}
	p, ok := b.memory.pointer(a.Addr, int64(a.Len)*a.DType.Size())
	if !ok {
		panic(fmt.Sprintf("cpu: %s: %s is %v: no memory there", operation, name, a))
	}
	return view{p, a.Len, a.DType}
}

func (b *Backend) optional(operation, name string, a device.Array, n int) view {
	if a.Absent() {
		return view{kind: a.DType}
	}
	return b.view(operation, name, a, n)
}

// scratchView resolves scratch that the caller gave, as n numbers of type d.
func (b *Backend) scratchView(operation string, at device.Buffer, d device.DType, n int) view {
	if n == 0 {
		return view{kind: d}
	}
	return b.view(operation, "workspace", device.ArrayOf(at, d, n), n)
}

func requireFloat(operation string, kinds ...device.DType) {
	for _, kind := range kinds {
		if !kind.IsFloat() {
			panic(fmt.Sprintf("cpu: %s: operand of type %v, want a floating-point type", operation, kind))
		}
	}
}

func requireIndex(operation string, kind device.DType) {
	if kind != device.Int32 && kind != device.Int64 {
		panic(fmt.Sprintf("cpu: %s: indexes of type %v, want int32 or int64", operation, kind))
	}
}

// inFloat64 says whether an operation computes in float64: when all its
// floating-point operands are.
func inFloat64(kinds ...device.DType) bool {
	for _, kind := range kinds {
		if kind != device.Float64 {
			return false
		}
	}
	return true
}

func computeType(wide bool) device.DType {
	if wide {
		return device.Float64
	}
	return device.Float32
}
