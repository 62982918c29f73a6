package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// launchCall holds the words of a call of cuLaunchKernel, which the driver reads
// through pointers: one for each queue, on the heap, reused by every launch.
type launchCall struct {
	words [11]uintptr
	extra [5]uintptr
	bytes uintptr
	args  [maxArguments]byte
}

// take copies a kernel's arguments, and returns the last word of its call, which
// says where they are.
func (c *launchCall) take(arguments []byte) uintptr {
	c.bytes = uintptr(copy(c.args[:], arguments))
	c.extra = [...]uintptr{launchBuffer, uintptr(unsafe.Pointer(&c.args)), launchSize, uintptr(unsafe.Pointer(&c.bytes)), launchEnd}
	return uintptr(unsafe.Pointer(&c.extra))
}

// maxArguments is the most bytes of arguments that a kernel takes.
const maxArguments = 4096

// The keys of the list that passes arguments as one buffer.
const (
	launchEnd    = 0
	launchBuffer = 1
	launchSize   = 2
)

// Enqueue implements kernels.Queue. A kernel that is loaded for its first launch
// needs memory: when there is none, the launch is tried again without the
// allocator's cache, as the allocator does.
func (q *queue) Enqueue(l *kernels.Launch) {
	if q.err != nil {
		return
	}
	err := q.launch(l)
	if empty := q.device.emptyCache; empty != nil && errors.Is(err, alloc.ErrNoMemory) {
		empty()
		err = q.launch(l)
	}
	q.keep(err)
}

// launch queues a kernel, and loads it before if need be.
func (q *queue) launch(l *kernels.Launch) error {
	if len(l.Args) > maxArguments {
		panic(fmt.Sprintf("cuda: %d bytes of arguments for %v", len(l.Args), l.Kernel))
	}
	f, err := q.modules.kernel(l.Kernel, l.Shared)
	if err != nil {
		return err
	}
	c := q.launchCall
	c.words = [...]uintptr{
		f, uintptr(l.Grid[0]), uintptr(l.Grid[1]), uintptr(l.Grid[2]), uintptr(l.Threads), 1, 1,
		uintptr(l.Shared), q.compute, 0, c.take(l.Args),
	}
	if err := q.device.in(cuLaunchKernel, c.words[:]...); err != nil {
		return fmt.Errorf("kernel %v: %w", l.Kernel, err)
	}
	return nil
}
