package alloc

import "errors"

// Stream is the handle of a queue of work on the device, as the driver knows
// it. 0 is the default stream.
type Stream uint64

// Event is the driver's name for a point in a stream's queue.
type Event uint64

// ErrNoMemory is the error of a driver, wrapped or not, when the device has no
// memory left. It is the only failure that the allocator recovers from; every
// [OOMError] is one.
var ErrNoMemory = errors.New("the device has no memory left")

// Driver gives and takes a device's memory. All calls are made by one
// goroutine at a time, with the allocator locked: a driver must not call back.
//
// A driver with several streams also implements [Syncer]. A driver that can
// reserve addresses and map memory to them also implements [Mapper].
type Driver interface {
	// Malloc returns the address of size new bytes, never 0, aligned to 512.
	Malloc(size int64) (addr uint64, err error)
	// Free takes back memory that Malloc returned. The device may still be using it:
	// the driver waits, as cudaFree does.
	Free(addr uint64)
	// MemInfo returns the device's free and total bytes.
	MemInfo() (free, total int64)
}

// Syncer is a driver with streams that run beside each other. Without it,
// every use of a block has ended by the time the block is freed.
type Syncer interface {
	// RecordEvent marks the present end of a stream's queue.
	RecordEvent(s Stream) Event
	// EventReady reports, without waiting, whether the device has passed e.
	// After a true answer e is not used again.
	EventReady(e Event) bool
	// SyncEvent waits until the device has passed e, which is not used again.
	SyncEvent(e Event)
}

// Neighbour is a driver that also takes device memory for itself, for example for
// the kernels that it loads.
type Neighbour interface {
	// SetEmptyCache gives the driver [Allocator.EmptyCache], for when it lacks
	// memory outside of the allocator's calls.
	SetEmptyCache(empty func())
}

// Mapper is a driver that can map memory to reserved addresses, which the
// setting expandable_segments needs. Sizes are multiples of 2 MiB.
type Mapper interface {
	// Reserve returns a range of size addresses without memory.
	Reserve(size int64) (addr uint64, err error)
	// Unreserve gives back a range without mapped memory.
	Unreserve(addr uint64, size int64)
	// Map maps memory to a whole part of a range, or to none of it.
	Map(addr uint64, size int64) error
	// Unmap removes the memory from a part of a range.
	Unmap(addr uint64, size int64)
}
