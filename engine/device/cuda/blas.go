package cuda

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
)

// # cuBLASLt
//
// NVIDIA's library of matrix products is used when it is found: it is faster on
// every GPU than one kernel of ours can be, and every installation of PyTorch
// has it. Without it our own kernels multiply.
//
// The library stores matrices by columns. A matrix stored by rows, read by
// columns, is its transpose, so C = A·B by rows is Cᵀ = Bᵀ·Aᵀ by columns: the
// operands are swapped and no element moves.
//
// # Order of sums
//
// A sum is of float32 throughout: no part
// of it is ever rounded to 16 bits. Its order is that of the algorithm, which is
// chosen once for a product's sizes, types and alignment, and parts are added in
// a fixed order, on one stream with a workspace of its own. So equal operands
// give equal bits in every run with one version of the library on GPUs of one
// model; another version or model may choose another order.

// blasSymbol is an entry point of the library: its place in blasNames.
type blasSymbol int

var (
	ltCreate            = blasEntry("cublasLtCreate")
	ltDestroy           = blasEntry("cublasLtDestroy")
	ltDescCreate        = blasEntry("cublasLtMatmulDescCreate")
	ltDescDestroy       = blasEntry("cublasLtMatmulDescDestroy")
	ltDescSet           = blasEntry("cublasLtMatmulDescSetAttribute")
	ltLayoutCreate      = blasEntry("cublasLtMatrixLayoutCreate")
	ltLayoutDestroy     = blasEntry("cublasLtMatrixLayoutDestroy")
	ltLayoutSet         = blasEntry("cublasLtMatrixLayoutSetAttribute")
	ltPreferenceCreate  = blasEntry("cublasLtMatmulPreferenceCreate")
	ltPreferenceDestroy = blasEntry("cublasLtMatmulPreferenceDestroy")
	ltPreferenceSet     = blasEntry("cublasLtMatmulPreferenceSetAttribute")
	ltHeuristic         = blasEntry("cublasLtMatmulAlgoGetHeuristic")
	ltMatmul            = blasEntry("cublasLtMatmul")
	ltVersion           = blasEntry("cublasLtGetVersion")
)

var blasNames []string

func blasEntry(name string) blasSymbol {
	blasNames = append(blasNames, name)
	return blasSymbol(len(blasNames) - 1)
}

func (s blasSymbol) String() string { return blasNames[s] }

// blasLibrary serves calls as [Driver] does: the library, or a stand-in of the
// tests. The result 0 is success, but for ltVersion.
type blasLibrary interface {
	call(s blasSymbol, args ...uintptr) int32
}

// BLASError is a failed call of cuBLASLt.
type BLASError struct {
	Call   string
	Status int32 // as in cublasStatus_t
}

// Error is one line.
func (e *BLASError) Error() string { return fmt.Sprintf("%s: status %d", e.Call, e.Status) }

// blas multiplies matrices with the library, on one queue. A product is planned
// once for its shape, types and alignment.
type blas struct {
	name      string // version and file
	library   blasLibrary
	handle    uintptr
	plans     map[productKind]*plan
	workspace device.Buffer
	words     *blasWords
	args      [16]uintptr
}

// blasWords are the words that the library reads and writes through pointers, on
// the heap.
type blasWords struct {
	handle      uint64
	attribute   uint64
	alpha, beta float32
	found       int32
	heuristic   blasHeuristic
}

// blasHeuristic is the library's cublasLtMatmulHeuristicResult_t.
type blasHeuristic struct {
	algorithm [8]uint64
	workspace uint64
	state     int32
	waves     float32
	reserved  [4]int32
}

// blasWorkspace returns the bytes of scratch that PyTorch gives the library on a
// GPU of that compute capability (its CublasHandlePool.cpp), so that the library
// chooses the same algorithms.
func blasWorkspace(major int) int64 {
	if major == 9 {
		return 4096 * 8 * 1024
	}
	return 4096*1024*2 + 16*1024*8
}

// foundBLAS is a library that was found: loaded, or the reason why it cannot be.
type foundBLAS struct {
	path    string
	library blasLibrary
	err     error
}

// findBLAS uses the first library that starts, and keeps the reasons why earlier
// ones did not.
func (d *Device) findBLAS(found iter.Seq[foundBLAS]) {
	d.sought = true
	for f := range found {
		err := f.err
		if err == nil {
			err = d.startBLAS(f.library)
		}
		if err == nil {
			d.blas.name = fmt.Sprintf("cuBLASLt %s of %s", d.blas.version(), f.path)
			return
		}
		d.refused = append(d.refused, fmt.Errorf("%s: %w", f.path, err))
	}
}

// startBLAS uses a library, if it can multiply on this device.
func (d *Device) startBLAS(library blasLibrary) error {
	defer d.leave()
	if err := d.enter(); err != nil {
		return err
	}
	b, err := newBLAS(library)
	if err != nil {
		return err
	}
	b.workspace.Bytes = blasWorkspace(d.info.Major)
	if b.workspace.Addr, err = d.Malloc(b.workspace.Bytes); err == nil {
		err = b.try()
	}
	if err != nil {
		return errors.Join(err, d.stopBLAS(b))
	}
	d.blas = b
	return nil
}

// try asks for an algorithm for a product that every half-precision model has: a
// library older than this device has none.
func (b *blas) try() error {
	const n = 64
	some := device.Array{Len: n * n, DType: device.BFloat16}
	m := device.MatMul{M: n, N: n, K: n, LDA: n, LDB: n, LDC: n, Batch: 1, A: some, B: some, C: some}
	k, _ := b.kindOf(&m)
	if p, err := b.planOf(k, &m); p != nil || err != nil {
		return err
	}
	return errors.New("it has no product for this GPU")
}

// stopBLAS releases everything that startBLAS has made; it accepts nil.
func (d *Device) stopBLAS(b *blas) error {
	if b == nil {
		return nil
	}
	err := b.close()
	if b.workspace.Addr != 0 {
		err = errors.Join(err, d.in(cuMemFree, uintptr(b.workspace.Addr)))
	}
	return err
}

// Library returns which cuBLASLt multiplies, or why none does.
func (d *Device) Library() (string, error) {
	switch {
	case d.blas != nil:
		return d.blas.name, nil
	case !d.sought:
		return "", errors.New("cuBLASLt is not wanted")
	case len(d.refused) == 0:
		return "", errors.New("there is no cuBLASLt")
	}
	return "", fmt.Errorf("no cuBLASLt starts: %s", d.refusals())
}

// Products returns in one line what multiplies matrices, cuBLASLt or our kernels, and why
// it is not what would be faster. It belongs to the goroutine of the backend.
func (d *Device) Products() string {
	const own = "own, by mma.sync"
	name, err := d.Library()
	switch {
	case err == nil && len(d.refused) > 0:
		return name + "; not " + d.refusals()
	case err == nil:
		return name
	case d.sought:
		return own + "; " + err.Error()
	}
	return own
}

// refusals are the libraries that did not start, and why, in one line.
func (d *Device) refusals() string {
	var list []string
	for _, err := range d.refused {
		list = append(list, strings.ReplaceAll(err.Error(), "\n", ": "))
	}
	return strings.Join(list, "; ")
}

// version is the library's own, such as 13.2.0.
func (b *blas) version() string {
	v := b.library.call(ltVersion)
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}

func newBLAS(library blasLibrary) (*blas, error) {
	b := &blas{library: library, plans: make(map[productKind]*plan), words: new(blasWords)}
	h, err := b.create(ltCreate)
	b.handle = h
	return b, err
}

func (b *blas) do(s blasSymbol, args ...uintptr) error {
	if status := b.library.call(s, args...); status != 0 {
		return &BLASError{s.String(), status}
	}
	return nil
}

// create calls a function that writes a handle to its first argument.
func (b *blas) create(s blasSymbol, args ...uintptr) (uintptr, error) {
	at := uintptr(unsafe.Pointer(&b.words.handle))
	err := b.do(s, append([]uintptr{at}, args...)...)
	return uintptr(b.words.handle), err
}

// set sets an attribute of n bytes of a descriptor.
func (b *blas) set(s blasSymbol, descriptor uintptr, attribute int, value uint64, n uintptr) error {
	b.words.attribute = value
	return b.do(s, descriptor, uintptr(attribute), uintptr(unsafe.Pointer(&b.words.attribute)), n)
}

func (b *blas) close() error {
	for _, p := range b.plans {
		p.close(b)
	}
	b.plans = nil
	return b.do(ltDestroy, b.handle)
}
