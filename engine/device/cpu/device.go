package cpu

import (
	"errors"
	"fmt"
	"runtime"
)

// DefaultCapacity is the device's default memory: 2 GiB.
const DefaultCapacity = 2 << 30

// Options configure the device. The zero value is usable.
type Options struct {
	// Capacity is the device's memory in bytes, rounded up to Granularity; 0
	// means DefaultCapacity. Memory is taken from the host as it is used.
	Capacity int64
	// Threads is the number of goroutines that compute, the caller's included;
	// 0 means GOMAXPROCS. It does not change results.
	Threads int
}

// Device is cpu:0: its memory and its backend. Memory may be used by one
// goroutine (the allocator's, under its lock) while Backend is used by another.
type Device struct {
	*Memory
	*Backend
}

// Open reserves the address space of a device and starts its threads. The
// caller closes it.
func Open(o Options) (*Device, error) {
	if o.Capacity < 0 || o.Threads < 0 {
		return nil, fmt.Errorf("cpu: capacity %d bytes and %d threads: neither may be negative", o.Capacity, o.Threads)
	}
	if o.Capacity == 0 {
		o.Capacity = DefaultCapacity
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	memory, err := openMemory(o.Capacity)
	if err != nil {
		return nil, fmt.Errorf("cpu: reserving %d bytes: %w", o.Capacity, err)
	}
	return &Device{Memory: memory, Backend: newBackend(memory, o.Threads)}, nil
}

// Name returns "cpu:0".
func (d *Device) Name() string {
	return "cpu:0"
}

// Threads is the number of goroutines that compute.
func (b *Backend) Threads() int { return len(b.pool.workers) }

// Close ends the threads and gives the memory back. The device must not be used
// after it.
func (d *Device) Close() error {
	d.pool.close()
	if d.host != nil {
		return errors.Join(d.host.memory.close(), d.close())
	}
	return d.close()
}
