package kernels

import (
	"math"

	"github.com/memtop/memtop/engine/device"
)

// hopper is the set of operand types whose products use Hopper's kernels.
type hopper struct{ bfloat, half bool }

// hopperShared is the shared memory of Hopper's products: three tiles of both
// operands, ones to multiply with, and padding for the alignment of descriptors.
const hopperShared = 3*2*128*64*2 + 2*1024

// # Divided products
//
// The gradient of a weight is a product of few tiles and much depth, and a block for
// each tile would leave processors without work. Such a product is divided along K, and
// the last block of a tile joins the parts, see hopper.h. Whether, and into how many
// parts, follows from the sizes alone, for a GPU of 132 processors, so that equal
// products have equal bits on all Hoppers.

const (
	hopperDepth      = 64 // of a step of the kernels
	hopperProcessors = 132
	// partBytes is the memory of a part of a tile.
	partBytes = (largeTile*largeTile + largeTile) * 4
	mostParts = ScratchBytes / partBytes // of all tiles
	// What a part costs, in steps: to write it, to wait for the count, and to be read
	// by the last block, which reads all parts of its tile.
	partSteps, joinSteps = 6, 2
)

// divide decides into which parts a product that is no batch is divided, if its kernel is
// Hopper's. The parts are in scratch. Attention's products may have operands there, and
// are not divided.
func (c *Compute) divide(a *matMulArgs) {
	if k, tile, _ := c.productKernel(a, 1); isHopper(k) {
		steps := max(1, ceil(int(a.K), hopperDepth))
		parts := c.parts(ceil(int(a.M), tile)*ceil(int(a.N), tile), steps)
		a.Parts, a.Arrived, a.PartDepth = c.scratch.Addr, c.state+arrivedAt, int64(ceil(steps, parts)*hopperDepth)
	}
}

// partsOf returns the number of parts with which the processor that has most to do has
// least. A block that is alone on its processor waits for its operands and its products
// in turn, which costs it a quarter more.
func partsOf(tiles, steps int) (best int) {
	least := math.MaxInt
	for parts := 1; parts <= steps && (parts == 1 || tiles*parts <= mostParts); parts++ {
		each, blocks := ceil(steps, parts), tiles*parts
		if parts > 1 {
			each += partSteps + joinSteps*parts
		}
		cost := 4 * each * ceil(blocks, hopperProcessors)
		if blocks <= hopperProcessors {
			cost = 5 * each
		}
		if cost < least {
			best, least = parts, cost
		}
	}
	return best
}

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

func isHopper(k Kernel) bool { return k >= HopperBfloatNn && k <= HopperHalfTt }

// mostShared returns the most dynamic shared memory of a launch of a kernel.
func mostShared(k Kernel) uint32 {
	switch {
	case isHopper(k):
		return hopperShared
	case k >= FlashBackwardBfloat64 && k <= FlashBackwardHalf128:
		return flashShared
	}
	return MaxShared
}
