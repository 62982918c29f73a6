package cuda

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// # Memory behind reserved addresses
//
// The driver maps and unmaps only whole allocations, while an expandable segment
// gives back any of its pages. So every piece of 2 MiB, the smallest possible, is
// an allocation of its own; access is granted for a whole range at once.

// piece is the granularity of the driver's allocations, in bytes.
const piece = 2 << 20

// The driver's structures, as cuda.h lays them out, are written word by word:
// CUmemAllocationProp and CUmemAccessDesc.
const (
	allocationPinned = 1 // on the device; the driver calls it pinned
	locationDevice   = 1
	accessReadWrite  = 3
)

// Reserve returns a range of addresses without memory.
func (m *Memory) Reserve(size int64) (uint64, error) {
	if !m.device.info.VirtualMemory {
		return 0, fmt.Errorf("%s cannot map memory to reserved addresses", m.device.Name())
	}
	return m.device.words(cuMemAddressReserve, uintptr(size), 0, 0, 0)
}

// Unreserve gives a range back.
func (m *Memory) Unreserve(addr uint64, size int64) {
	m.must(m.device.in(cuMemAddressFree, uintptr(addr), uintptr(size)))
}

// Map puts memory behind a part of a range. After an error it has mapped nothing.
func (m *Memory) Map(addr uint64, size int64) error {
	for done := int64(0); done < size; done += piece {
		if err := m.mapPiece(addr + uint64(done)); err != nil {
			m.Unmap(addr, done)
			return err
		}
	}
	if err := m.allow(addr, size); err != nil {
		m.Unmap(addr, size)
		return err
	}
	return nil
}

// mapPiece puts new memory behind one piece.
func (m *Memory) mapPiece(addr uint64) error {
	d := m.device
	f := newFrame()
	defer f.release()
	// type, requestedHandleTypes, location{type, id}; the rest is zero.
	at := f.at(0) + unsafe.Offsetof(f.bytes)
	binary.LittleEndian.PutUint32(f.bytes[0:], allocationPinned)
	binary.LittleEndian.PutUint32(f.bytes[8:], locationDevice)
	binary.LittleEndian.PutUint32(f.bytes[12:], uint32(int32(d.handle)))
	if err := d.in(cuMemCreate, f.at(0), piece, at, 0); err != nil {
		return err
	}
	handle := uintptr(f.words[0])
	if err := d.in(cuMemMap, uintptr(addr), piece, 0, handle, 0); err != nil {
		m.must(d.in(cuMemRelease, handle))
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pieces == nil {
		m.pieces = make(map[uint64]uintptr)
	}
	m.pieces[addr] = handle
	return nil
}

// allow lets the device read and write mapped memory.
func (m *Memory) allow(addr uint64, size int64) error {
	d := m.device
	f := newFrame()
	defer f.release()
	at := f.at(0) + unsafe.Offsetof(f.bytes) // location{type, id}, flags
	binary.LittleEndian.PutUint32(f.bytes[0:], locationDevice)
	binary.LittleEndian.PutUint32(f.bytes[4:], uint32(int32(d.handle)))
	binary.LittleEndian.PutUint32(f.bytes[8:], accessReadWrite)
	return d.in(cuMemSetAccess, uintptr(addr), uintptr(size), at, 1)
}

// Unmap takes the memory away from a part of a range. The driver does not wait
// for the device, which may still use the memory, so Unmap waits.
func (m *Memory) Unmap(addr uint64, size int64) {
	d := m.device
	if size == 0 {
		return
	}
	m.must(d.in(cuCtxSynchronize))
	for done := int64(0); done < size; done += piece {
		at := addr + uint64(done)
		handle, ok := m.takePiece(at)
		if !ok {
			continue
		}
		m.must(d.in(cuMemUnmap, uintptr(at), piece))
		m.must(d.in(cuMemRelease, handle))
	}
}

// takePiece removes a piece from the list and returns its handle.
func (m *Memory) takePiece(addr uint64) (uintptr, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	handle, ok := m.pieces[addr]
	delete(m.pieces, addr)
	return handle, ok
}
