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
// Compute capability 9.0 has products of its own, of which a descriptor's one
// wrong bit makes wrong numbers. Their kernels are therefore compared, when a
// device first needs them, with those that run on every device, and are used only
// where they agree.

// hopper says what is known of the kernels of Hopper's products.
type hopper struct {
	present bool // the device is of compute capability 9.0
	tried   map[device.DType]error
}

// The matrices that are compared: several tiles in every direction, of which the
// last are not whole.
const (
	triedRows, triedCols, triedDepth = 136, 200, 88
	triedResult                      = triedRows * triedCols
)

// tryHopper finds out whether a product may use Hopper's kernels, if it is the
// first of its type.
func (b *Backend) tryHopper(m *device.MatMul) {
	kind := m.A.DType
	if !b.hopper.present || kind != m.B.DType || kind != device.BFloat16 && kind != device.Float16 || b.err != nil {
		return
	}
	if _, ok := b.hopper.tried[kind]; ok {
		return
	}
	if b.keep(b.Synchronize()) {
		return // what failed before is not the kernels' fault, and is reported where it is waited for
	}
	err := b.compareHopper(kind)
	b.UseHopper(kind, err == nil)
	b.hopper.tried[kind] = err
}

// compareHopper multiplies with both kernels, all ways to transpose, and waits
// for it.
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

// errDisagree says that two kernels for the same product have different results.
var errDisagree = errors.New("wgmma and mma.sync give different sums")

// triedProduct lays operands out in the scratch memory, which holds nothing
// between operations. They are small whole numbers, of which every order of
// adding gives the same sums, so that results are equal or wrong.
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

// Products says in one line what multiplies 16-bit matrices: cuBLASLt, or which
// instructions our kernels use, and why not those of Hopper on a device that has
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
