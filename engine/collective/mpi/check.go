package mpi

import (
	"fmt"
	"math"

	"github.com/memtop/memtop/engine/device"
)

// checkParts panics unless whole has a part of the same type for every process.
func checkParts(operation string, size int, whole, part device.Array) {
	if whole.DType != part.DType || whole.Len != size*part.Len {
		panic(fmt.Sprintf("mpi: %s of %d elements of %v in %d parts of %d of %v",
			operation, whole.Len, whole.DType, size, part.Len, part.DType))
	}
}

// most is how much one call takes: MPI counts in 32 bits.
const most = math.MaxInt32

// count returns n as MPI's number of elements or bytes.
func count(n int64) uintptr {
	if n < 0 || n > most {
		panic(fmt.Sprintf("mpi: %d at once, at most %d", n, most))
	}
	return uintptr(n)
}
