package cudatest

import (
	"unsafe"

	"github.com/memtop/memtop/engine/device/cuda"
)

// ranges are pieces of memory by their address.
type ranges map[uint64][]byte

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// aligned returns n zero bytes at an address that is a multiple of 512.
func aligned(n int) []byte {
	const unit = 512
	b := make([]byte, n+unit)
	skip := -int(address(b)) & (unit - 1)
	return b[skip : skip+n : skip+n]
}

// find returns n bytes at an address, nil unless all of them exist.
func (r ranges) find(addr uintptr, n int) []byte {
	for _, b := range r {
		from := address(b)
		if addr >= from && addr+uintptr(n) <= from+uintptr(len(b)) {
			return b[addr-from:][:n]
		}
	}
	return nil
}

func (d *Driver) alloc(a []uintptr) cuda.Result {
	n := int64(a[1])
	if n <= 0 {
		return invalidValue
	}
	if d.used+n > d.options.Capacity {
		return outOfMemory
	}
	b := aligned(int(n))
	d.used += n
	d.memory[uint64(address(b))] = b
	d.machine.Memory.Add(b, true)
	put64(a[0], uint64(address(b)))
	return success
}

// free waits for all queued work, as the driver does.
func (d *Driver) free(a []uintptr) cuda.Result {
	b, ok := d.memory[uint64(a[0])]
	if !ok {
		return invalidValue
	}
	r := d.runAll()
	d.used -= int64(len(b))
	delete(d.memory, uint64(a[0]))
	d.machine.Memory.Remove(uint64(a[0]), len(b))
	return r
}

func (d *Driver) hostAlloc(a []uintptr) cuda.Result {
	b := aligned(int(a[1]))
	d.host[uint64(address(b))] = b
	put64(a[0], uint64(address(b)))
	return success
}

// register lets the device access memory of the host.
func (d *Driver) register(a []uintptr) cuda.Result {
	if a[1] == 0 || d.host[uint64(a[0])] != nil {
		return invalidValue
	}
	d.host[uint64(a[0])] = bytesAt(a[0], int(a[1]))
	return success
}

func (d *Driver) hostFree(a []uintptr) cuda.Result {
	if _, ok := d.host[uint64(a[0])]; !ok {
		return invalidValue
	}
	delete(d.host, uint64(a[0]))
	return success
}

// onDevice returns memory of the device.
func (d *Driver) onDevice(addr uintptr, n int) []byte {
	if b := d.memory.find(addr, n); b != nil {
		return b
	}
	return d.mapping.find(addr, n)
}

// OnDevice reports whether n bytes from an address on are the device's.
func (d *Driver) OnDevice(addr uintptr, n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.onDevice(addr, n) != nil
}

// copied queues a copy, whose two sides are looked up when it runs.
func (d *Driver) copied(stream uintptr, dst, src func() []byte) cuda.Result {
	return d.stream(stream).push(func() cuda.Result {
		to, from := dst(), src()
		if to == nil || from == nil {
			return illegalAddress
		}
		copy(to, from)
		d.machine.Memory.Copied(to, from)
		return success
	})
}

const illegalAddress cuda.Result = 700

func (d *Driver) toDevice(a []uintptr) cuda.Result {
	n := int(a[2])
	d.stream(a[3]).use.ToDevice += int64(n)
	return d.copied(a[3], func() []byte { return d.onDevice(a[0], n) }, func() []byte { return ranges(d.host).find(a[1], n) })
}

func (d *Driver) toHost(a []uintptr) cuda.Result {
	n := int(a[2])
	d.stream(a[3]).use.ToHost += int64(n)
	return d.copied(a[3], func() []byte { return ranges(d.host).find(a[0], n) }, func() []byte { return d.onDevice(a[1], n) })
}

func (d *Driver) within(a []uintptr) cuda.Result {
	n := int(a[2])
	if a[0] < a[1]+a[2] && a[1] < a[0]+a[2] {
		panic("cudatest: the ranges of a copy overlap, and the driver promises no order within it")
	}
	return d.copied(a[3], func() []byte { return d.onDevice(a[0], n) }, func() []byte { return d.onDevice(a[1], n) })
}

func (d *Driver) set(a []uintptr) cuda.Result {
	return d.stream(a[3]).push(func() cuda.Result {
		to := d.onDevice(a[0], int(a[2]))
		if to == nil {
			return illegalAddress
		}
		for i := range to {
			to[i] = byte(a[1])
		}
		d.machine.Memory.Copied(to, nil)
		return success
	})
}
