package kernels

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
)

// Launch is one launch of a kernel, with everything that the driver needs to
// queue it.
type Launch struct {
	Kernel  Kernel
	Grid    [3]uint32 // blocks
	Threads uint32    // of a block, along its first dimension
	Shared  uint32    // bytes of dynamic shared memory
	// Args is the kernel's one argument, a struct by value: cuLaunchKernel's extra
	// parameter buffer.
	Args []byte
}

// Queue takes launches and runs them in order: a stream of the driver, or the
// host build.
type Queue interface {
	// Enqueue reads *l and l.Args before it returns and keeps neither. The
	// device's next Synchronize reports a failure.
	Enqueue(l *Launch)
}

// ScratchBytes is how much scratch memory a Compute needs.
const ScratchBytes = 32 << 20

// MaxShared is the most dynamic shared memory of a Launch, except for flash's gradients:
// the default limit of every device.
const MaxShared = 48 << 10

// Compute implements device.Backend, except device.Transfers, by launching
// kernels. It belongs to one goroutine at a time and allocates nothing.
type Compute struct {
	queue   Queue
	scratch device.Buffer
	failure uint64
	band    int64 // the bytes of scratch that a band of scores may take
	rows    int   // the most output rows of a band of a convolution
	// The most ids whose last places are in scratch at a time.
	scatterIDs int64
	update     updateArgs  // reused for the next
	last       Launch      // the same
	args       [512]uint64 // memory of last.Args
}

// NewCompute returns a Compute that launches into q. scratch is device memory
// of at least ScratchBytes, and failure the address of FailureBytes, zeroed; both
// are 256-byte aligned, belong to the Compute and are written by kernels.
func NewCompute(q Queue, scratch device.Buffer, failure uint64) *Compute {
	if scratch.Bytes < ScratchBytes || scratch.Addr%256 != 0 || failure%256 != 0 {
		panic(fmt.Sprintf("kernels: %d bytes of scratch at %#x and a record of failures at %#x", scratch.Bytes, scratch.Addr, failure))
	}
	return &Compute{queue: q, scratch: scratch, failure: failure, band: ScratchBytes, rows: math.MaxInt, scatterIDs: ScratchBytes / 2 / 4}
}

// launch enqueues k with args. args must hold no pointers into this process's
// memory.
func launch[A any](c *Compute, k Kernel, grid [3]uint32, threads, shared uint32, args A) {
	size := unsafe.Sizeof(args)
	if size > unsafe.Sizeof(c.args) || shared > mostShared(k) {
		panic(fmt.Sprintf("kernels: %v: %d bytes of arguments, %d shared", k, size, shared))
	}
	if grid[0] == 0 || grid[1] == 0 || grid[2] == 0 {
		return
	}
	*(*A)(unsafe.Pointer(&c.args)) = args
	c.last = Launch{k, grid, threads, shared, unsafe.Slice((*byte)(unsafe.Pointer(&c.args)), size)}
	c.queue.Enqueue(&c.last)
}

// blockThreads is the size of most blocks.
const blockThreads = 256

// quads returns the grid for n elements, four for each thread.
func quads(n int) [3]uint32 { return line(ceil(n, 4*blockThreads)) }

func line(blocks int) [3]uint32 { return [3]uint32{uint32(blocks), 1, 1} }

func ceil(n, d int) int { return (n + d - 1) / d }

// scratchArray returns n elements of scratch from byte offset on.
func (c *Compute) scratchArray(d device.DType, offset int64, n int) device.Array {
	return device.ArrayOf(device.Buffer{Addr: c.scratch.Addr + uint64(offset), Bytes: c.scratch.Bytes - offset}, d, n)
}

// checkTypes wants floating-point types that kernels compute with. float64 is for
// gradient checks, which need no GPU.
func checkTypes(operation string, kinds ...device.DType) {
	device.CheckFloat(operation, kinds...)
	if slices.Contains(kinds, device.Float64) {
		panic("kernels: " + operation + " of float64: only the processor computes in it, cpu:0")
	}
}
