package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"memtop/engine/device"
	"memtop/engine/device/cuda/kernels"
)

// # Products on Hopper
//
// Compute capability 9.0 has its own products, for which one wrong bit in a
// descriptor gives wrong numbers. When a device first needs their kernels, they
// are therefore compared with those that run on every device, and are used only
// if they agree.

// hopper is the state of the kernels of Hopper's products.
type hopper struct {
	present bool // the device is of compute capability 9.0
	tried   map[device.DType]error
}

// The sizes of the compared matrices: several tiles in every direction, the last
// one partial.
const (
	triedRows, triedCols, triedDepth = 136, 200, 88
	triedResult                      = triedRows * triedCols
)

// tryHopper decides whether products of m's type may use Hopper's kernels, if m
// is the first.
func (b *Backend) tryHopper(m *device.MatMul) {
	kind := m.A.DType
	if !b.hopper.present || kind != m.B.DType || kind != device.BFloat16 && kind != device.Float16 || b.err != nil {
		return
	}
	if _, ok := b.hopper.tried[kind]; ok {
		return
	}
	if b.keep(b.Synchronize()) {
		return // an earlier failure is not the kernels', and the next Synchronize returns it
	}
	err := b.compareHopper(kind)
	b.UseHopper(kind, err == nil)
	b.hopper.tried[kind] = err
}

// compareHopper multiplies with both kernels, with every transposition, and
// waits for the results.
func (b *Backend) compareHopper(kind device.DType) error {
	module := kernels.HopperBfloat
	if kind == device.Float16 {
		module = kernels.HopperHalf
	}
	if err := b.modules.load(module); err != nil {
		return err
	}
	m := b.triedProduct(kind)
	for transposes := range 4 {
		m.TransA, m.TransB = transposes&2 != 0, transposes&1 != 0
		var sums [2][]float32
		for i := range sums {
			b.UseHopper(kind, i == 1)
			b.Fill(m.C, math.NaN())
			b.Compute.MatMul(m.Plan())
			sums[i] = make([]float32, triedResult)
			if err := b.Download(unsafe.Slice((*byte)(unsafe.Pointer(&sums[i][0])), 4*triedResult), m.C.Buffer()); err != nil {
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

// triedProduct puts operands into the scratch memory, which is unused between
// operations. They are small whole numbers, whose sums do not depend on the
// order, so that results are equal or wrong.
func (b *Backend) triedProduct(kind device.DType) device.MatMul {
	next := b.scratch
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
	return device.MatMul{
		M: triedRows, N: triedCols, K: triedDepth,
		A: operand(triedRows * triedDepth), B: operand(triedDepth * triedCols), C: array(device.Float32, triedResult),
	}
}

// Products returns in one line what multiplies 16-bit matrices: cuBLASLt, or the
// instructions of our kernels, and why they are not Hopper's on a device that has
// them. It belongs to the goroutine of the backend.
func (d *Device) Products() string {
	switch {
	case d.blas != nil:
		return "cuBLASLt"
	case !d.hopper.present:
		return "own, by mma.sync"
	case len(d.hopper.tried) == 0:
		return "own, by wgmma if it agrees with mma.sync"
	}
	for _, kind := range []device.DType{device.BFloat16, device.Float16} {
		if err := d.hopper.tried[kind]; err != nil {
			return "own, by mma.sync: " + err.Error()
		}
	}
	return "own, by wgmma"
}
