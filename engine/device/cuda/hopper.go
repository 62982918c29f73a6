package cuda

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// # Products on Hopper
//
// Compute capability 9.0 has its own products, for which one wrong bit in a
// descriptor gives wrong numbers, or a fault. When a device first needs their
// kernels, they are therefore compared with those that run on every device, where
// a fault costs nothing, and are used only if they agree.

// hopper is the state of the kernels of Hopper's products.
type hopper struct {
	present bool // the device is of compute capability 9.0
	off     bool // the user does not want them
	tried   map[device.DType]error
	try     func(device.DType) error
}

// hopperTypes are the types of operands that they are for.
var hopperTypes = []device.DType{device.BFloat16, device.Float16}

// hopperVariable turns them off.
const hopperVariable = "MEMTOP_CUDA_WGMMA"

// newHopper is the state before the first product.
func newHopper(info *Info, o *Options) (hopper, error) {
	h := hopper{present: info.Major == 9 && info.Minor == 0, tried: make(map[device.DType]error), try: o.Try}
	switch v := os.Getenv(hopperVariable); v {
	case "", "on":
	case "off":
		h.off = true
	default:
		return h, fmt.Errorf("%s=%s: want on or off", hopperVariable, v)
	}
	if h.try == nil {
		h.try = func(kind device.DType) error { return tryInProcess(info.Ordinal, kind) }
	}
	return h, nil
}

// The sizes of the compared matrices: several tiles in rows and columns, and in
// depth so many that every stage of the kernels' pipeline is used three times;
// the last tile in every direction is partial. A deep product is divided, and its
// parts are as deep as the others.
const (
	triedRows, triedCols, triedDepth = 136, 200, 568
	triedDeep                        = 3*576 - 8
	triedResult                      = triedRows * triedCols
	noSum                            = 0.5 // of whole numbers
	// triedBytes is room for the operands in four bytes and in two, and for the result.
	triedBytes = 6*triedDeep*(triedRows+triedCols) + 4*(triedResult+triedRows) + 4096
)

// tryHopper decides whether products of m's type may use Hopper's kernels, if m
// is the first.
func (b *Backend) tryHopper(m *device.MatMul) {
	kind, h := m.A.DType, &b.hopper
	if !h.present || h.off || kind != m.B.DType || !slices.Contains(hopperTypes, kind) || b.err != nil {
		return
	}
	if _, ok := h.tried[kind]; ok {
		return
	}
	h.tried[kind] = h.try(kind)
	b.UseHopper(kind, h.tried[kind] == nil)
}

// compareHopper multiplies with both kernels, with every transposition, then a deep
// product, and waits for the results.
func (b *Backend) compareHopper(kind device.DType) (err error) {
	module := kernels.HopperBfloat
	if kind == device.Float16 {
		module = kernels.HopperHalf
	}
	if err := b.modules.load(module); err != nil {
		return err
	}
	memory, err := b.device.words(cuMemAlloc, triedBytes)
	if err != nil {
		return err
	}
	defer func() {
		if freed := b.device.in(cuMemFree, uintptr(memory)); err == nil {
			err = freed
		}
	}()
	m, result := b.triedProduct(kind, device.Buffer{Addr: memory, Bytes: triedBytes})
	for _, p := range []struct {
		transA, transB bool
		depth          int
	}{{false, false, triedDepth}, {false, true, triedDepth}, {true, false, triedDepth}, {true, true, triedDepth}, {true, false, triedDeep}} {
		m.TransA, m.TransB, m.K = p.transA, p.transB, p.depth
		m.SumA = device.Array{}
		if m.TransA {
			m.SumA = result.Slice(triedResult, triedRows)
		}
		var sums [2][]float32
		for i := range sums {
			b.UseHopper(kind, i == 1)
			b.Fill(result, noSum)
			b.Compute.MatMul(m.Plan())
			sums[i] = make([]float32, result.Len)
			if err := b.Download(unsafe.Slice((*byte)(unsafe.Pointer(&sums[i][0])), 4*result.Len), result.Buffer()); err != nil {
				return err
			}
		}
		if !slices.Equal(sums[0], sums[1]) {
			return fmt.Errorf("%v product, transposed %v and %v: %w", kind, m.TransA, m.TransB, errDisagree)
		}
	}
	return nil
}

// errDisagree is for two kernels that give different results for one product.
var errDisagree = errors.New("wgmma and mma.sync give different sums")

// triedProduct puts operands into memory. They are small whole numbers, whose sums do
// not depend on the order, so that results are equal or wrong. The result has room for
// the sums of A's rows behind C.
func (b *Backend) triedProduct(kind device.DType, memory device.Buffer) (m device.MatMul, result device.Array) {
	next := memory
	array := func(d device.DType, n int) device.Array {
		a := device.ArrayOf(next, d, n)
		used := (int64(n)*d.Size() + 255) &^ 255
		next = device.Buffer{Addr: next.Addr + uint64(used), Bytes: next.Bytes - used}
		return a
	}
	random := rand.New(rand.NewPCG(9, 0))
	operand := func(n int) device.Array {
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(random.IntN(17) - 8)
		}
		wide, narrow := array(device.Float32, n), array(kind, n)
		b.Upload(wide.Buffer(), unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), 4*n))
		b.Cast(narrow, wide)
		return narrow
	}
	m = device.MatMul{M: triedRows, N: triedCols, A: operand(triedRows * triedDeep), B: operand(triedDeep * triedCols)}
	result = array(device.Float32, triedResult+triedRows)
	m.C = result.Slice(0, triedResult)
	return m, result
}

// Products returns in one line what multiplies 16-bit matrices, cuBLASLt or the
// instructions of our kernels, and why it is not what would be faster. It belongs
// to the goroutine of the backend.
func (d *Device) Products() string {
	name, err := d.Library()
	switch {
	case err == nil && len(d.refused) > 0:
		return name + "; not " + d.refusals()
	case err == nil:
		return name
	case d.sought:
		return d.hopper.String() + "; " + err.Error()
	}
	return d.hopper.String()
}

// String is the instructions, and why they are not wgmma on a device that has it.
func (h *hopper) String() string {
	switch {
	case !h.present:
		return "own, by mma.sync"
	case h.off:
		return "own, by mma.sync: " + hopperVariable + "=off"
	case len(h.tried) == 0:
		return "own, by wgmma if it agrees with mma.sync"
	}
	for _, kind := range hopperTypes {
		if err := h.tried[kind]; err != nil {
			return "own, by mma.sync: " + err.Error()
		}
	}
	return "own, by wgmma"
}
