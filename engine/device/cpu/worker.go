package cpu

import (
	"fmt"
	"runtime"
	"unsafe"
)

// worker is the state of one thread of the pool: scratch memory that grows to the
// largest requested size and stays. Like a GPU's registers and caches, it is not
// part of the device's memory.
type worker struct {
	slots [slotCount][]byte
	block block // of the product that this worker began
}

// slot names a piece of scratch. Two uses in one operation need two slots.
type slot int

const (
	slotA slot = iota
	slotB
	slotC
	slotD
	slotE
	slotF
	slotPackA // the product's packed panels, and what it needs for its edges
	slotPackB
	slotHeld
	slotWiden
	slotTile
	slotUnfolded
	slotCount
)

// scratchAlign is the size of a cache line, and of the widest register.
const scratchAlign = 64

// scratch returns n numbers whose values are undefined. They stay valid until
// the slot is asked for again.
func scratch[T any](w *worker, s slot, n int) []T {
	var x T
	need := n*int(unsafe.Sizeof(x)) + scratchAlign
	if len(w.slots[s]) < need {
		w.slots[s] = make([]byte, need+need/4)
	}
	base := unsafe.Pointer(&w.slots[s][0])
	skip := -uintptr(base) & (scratchAlign - 1)
	return unsafe.Slice((*T)(unsafe.Add(base, skip)), n)
}

// inType returns what computes in float64 or in float32.
func inType[J any](wide bool, double, single func(*worker, J, int)) func(*worker, J, int) {
	if wide {
		return double
	}
	return single
}

// explain translates a fault in a kernel: the memory existed when the operation
// began, and was given back while it ran.
func explain(r any) any {
	err, ok := r.(runtime.Error)
	if !ok {
		return r
	}
	place, ok := r.(interface{ Addr() uintptr })
	if !ok {
		return err
	}
	return fmt.Sprintf("cpu: use after free: an operation touched address %#x, behind which there is no memory", place.Addr())
}
