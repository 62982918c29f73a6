package kernels

import (
	"github.com/memtop/memtop/engine/device"
)

// hopper is the set of operand types whose products use Hopper's kernels.
type hopper struct{ bfloat, half bool }

// hopperShared is the shared memory of Hopper's products: three tiles of both
// operands, ones to multiply with, and padding for the alignment of descriptors.
const hopperShared = 3*2*128*64*2 + 2*1024

// UseHopper sets whether products of matrices of a 16-bit type use the kernels
// for compute capability 9.0, which run on no other device. At first they do not.
func (c *Compute) UseHopper(d device.DType, use bool) {
	switch d {
	case device.BFloat16:
		c.hopper.bfloat = use
	case device.Float16:
		c.hopper.half = use
	default:
		panic("kernels: Hopper has no product of " + d.String())
	}
}

// takes reports whether Hopper's kernels can compute a product: both operands of
// one type, and all their rows at multiples of 16 bytes.
func (h hopper) takes(a *matMulArgs) bool {
	kind := a.A.DType
	known := kind == device.BFloat16 && h.bfloat || kind == device.Float16 && h.half
	return known && a.B.DType == kind && a.A.Addr%16 == 0 && a.B.Addr%16 == 0 && (a.LDA|a.InnerA|a.OuterA|a.LDB|a.InnerB|a.OuterB)%8 == 0
}

// kernel returns the first of the four kernels for the operands' type.
func (h hopper) kernel(a *matMulArgs) Kernel {
	if a.A.DType == device.Float16 {
		return HopperHalfNn
	}
	return HopperBfloatNn
}

// mostShared returns the most dynamic shared memory of a launch of a kernel.
func mostShared(k Kernel) uint32 {
	switch {
	case k >= HopperBfloatNn && k <= HopperHalfTt:
		return hopperShared
	case k >= FlashBackwardBfloat64 && k <= FlashBackwardHalf128:
		return flashShared
	}
	return MaxShared
}
