package cuda

import (
	"errors"
	"fmt"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
)

// crossing is a copy on the queue's copy stream. It begins when the operations
// before it are done, and runs beside those after it.
type crossing struct {
	queue *queue
	done  alloc.Event
}

// Send implements device.Transfers.
func (q *queue) Send(dst, src device.Buffer) device.Crossing {
	return q.cross(cuMemcpyDtoHAsync, dst, src)
}

// Receive implements device.Transfers.
func (q *queue) Receive(dst, src device.Buffer) device.Crossing {
	return q.cross(cuMemcpyHtoDAsync, dst, src)
}

func (q *queue) cross(way Symbol, dst, src device.Buffer) device.Crossing {
	if src.Bytes > dst.Bytes {
		panic(fmt.Sprintf("cuda: copy of %d bytes into %d", src.Bytes, dst.Bytes))
	}
	c := &crossing{queue: q}
	if q.err != nil {
		return c
	}
	m := q.device.Memory
	before := m.RecordEvent(ComputeStream)
	q.keep(q.device.in(cuStreamWaitEvent, q.copies, uintptr(before), 0))
	m.recycle(before) // the stream waits for the point that was recorded, whatever the event is used for next
	q.keep(q.device.in(way, uintptr(dst.Addr), uintptr(src.Addr), uintptr(src.Bytes), q.copies))
	c.done = m.RecordEvent(CopyStream)
	return c
}

// Await implements device.Crossing.
func (c *crossing) Await() {
	if q := c.queue; c.done != 0 {
		q.keep(q.device.in(cuStreamWaitEvent, q.compute, uintptr(c.done), 0))
	}
}

// Wait implements device.Crossing.
func (c *crossing) Wait() error {
	q := c.queue
	if c.done != 0 {
		q.keep(q.device.in(cuEventSynchronize, uintptr(c.done)))
		q.device.recycle(c.done)
	}
	return q.take()
}

// host is memory of the machine that the device can copy from and to by itself.
type host struct {
	*cpu.Device
	device *Device
	pinned map[uint64]bool // the segments, by address
}

// OpenHost returns pinned memory of the machine, and its backend. Closing the
// device closes both. The caller calls it once.
func (d *Device) OpenHost() (alloc.Driver, device.Backend, error) {
	c, err := cpu.Open(cpu.Options{Capacity: cpu.HostMemory()})
	if err != nil {
		return nil, nil, err
	}
	d.host = &host{Device: c, device: d, pinned: make(map[uint64]bool)}
	return d.host, c.Backend, nil
}

// Malloc takes memory from the machine and pins it.
func (h *host) Malloc(size int64) (uint64, error) {
	addr, err := h.Device.Malloc(size)
	if err != nil {
		return 0, err
	}
	if err := h.device.in(cuMemHostRegister, uintptr(addr), uintptr(size), hostPortable); err != nil {
		h.Device.Free(addr)
		return 0, fmt.Errorf("cuda: the driver does not pin %d bytes (%w): %w", size, err, alloc.ErrNoMemory)
	}
	h.pinned[addr] = true
	return addr, nil
}

// Free gives a segment back.
func (h *host) Free(addr uint64) {
	h.device.must(h.device.in(cuMemHostUnregister, uintptr(addr)))
	delete(h.pinned, addr)
	h.Device.Free(addr)
}

// close gives everything back.
func (h *host) close() error {
	if h == nil {
		return nil
	}
	var errs []error
	for addr := range h.pinned {
		errs = append(errs, h.device.in(cuMemHostUnregister, uintptr(addr)))
	}
	return errors.Join(append(errs, h.Close())...)
}
