package cuda

import (
	"fmt"
	"unsafe"

	"memtop/engine/device/cuda/kernels"
)

// launcher holds the words of a launch, which the driver reads through pointers:
// one for each queue, on the heap, used again and again.
type launcher struct {
	call  [11]uintptr
	extra [5]uintptr
	bytes uintptr
	args  [maxArguments]byte
}

// maxArguments is the most bytes of arguments that a kernel can take.
const maxArguments = 4096

// The keys of the list by which arguments are handed over as one buffer.
const (
	launchEnd    = 0
	launchBuffer = 1
	launchSize   = 2
)

// launch queues a kernel. The arguments are one structure, as the kernel
// declares it; they are copied before the call returns.
func (q *queue) launch(k kernels.Kernel, grid, block [3]uint32, shared uint32, args []byte) {
	if q.err != nil || grid[0] == 0 || grid[1] == 0 || grid[2] == 0 {
		return
	}
	if len(args) > maxArguments {
		panic(fmt.Sprintf("cuda: %d bytes of arguments for %v", len(args), k))
	}
	f, err := q.modules.kernel(k, shared)
	if q.keep(err) {
		return
	}
	l := q.launcher
	copy(l.args[:], args)
	l.bytes = uintptr(len(args))
	l.extra = [...]uintptr{launchBuffer, uintptr(unsafe.Pointer(&l.args)), launchSize, uintptr(unsafe.Pointer(&l.bytes)), launchEnd}
	l.call = [...]uintptr{
		f, uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]), uintptr(block[0]), uintptr(block[1]), uintptr(block[2]),
		uintptr(shared), q.compute, 0, uintptr(unsafe.Pointer(&l.extra)),
	}
	if err := q.device.in(cuLaunchKernel, l.call[:]...); err != nil {
		q.keep(fmt.Errorf("kernel %v: %w", k, err))
	}
}
