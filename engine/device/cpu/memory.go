package cpu

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"unsafe"

	"github.com/memtop/memtop/engine/alloc"
)

// Granularity is the unit of the device's memory, the same as a GPU's: 2 MiB.
const Granularity = 2 << 20

// Memory is the device's memory. It is a driver for engine/alloc and supports
// expandable segments. Safe for concurrent use.
type Memory struct {
	region   region
	capacity int64
	// mu guards the fields below.
	mu       sync.RWMutex
	used     int64
	segments extents // with mapped memory, by Malloc or Map
	reserved extents // by Reserve
}

var (
	_ alloc.Driver = (*Memory)(nil)
	_ alloc.Mapper = (*Memory)(nil)
)

func openMemory(capacity int64) (*Memory, error) {
	capacity = roundUp(capacity)
	// Malloc uses the addresses up to the capacity. The addresses above are for
	// reservations.
	r, err := reserveRegion(capacity + min(reservable*capacity, maxReservable))
	if err != nil {
		return nil, err
	}
	return &Memory{region: r, capacity: capacity}, nil
}

func roundUp(n int64) int64 {
	return (n + Granularity - 1) &^ (Granularity - 1)
}

// Malloc returns the lowest address with room for size bytes, rounded up to
// Granularity. The memory is zero. Without room, or when the host has no
// memory, the error is alloc.ErrNoMemory.
func (m *Memory) Malloc(size int64) (uint64, error) {
	size = roundUp(max(size, 1))
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.segments.gap(0, m.capacity, size)
	if !ok || m.used+size > m.capacity {
		return 0, fmt.Errorf("cpu: %d bytes of %d are free: %w", m.capacity-m.used, m.capacity, alloc.ErrNoMemory)
	}
	if err := m.take(at, size); err != nil {
		return 0, err
	}
	return m.address(at), nil
}

// Free gives a segment back to the system. An address that Malloc did not
// return is a bug and panics.
func (m *Memory) Free(addr uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.segments.find(m.offset(addr))
	if !ok || m.segments[i].at >= m.capacity {
		panic(fmt.Sprintf("cpu: free of %#x, which is no segment", addr))
	}
	m.drop(i)
}

// MemInfo returns the free and the total bytes of the device.
func (m *Memory) MemInfo() (free, total int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.capacity - m.used, m.capacity
}

// Reserve returns a range of addresses without mapped memory. It takes no memory.
func (m *Memory) Reserve(size int64) (uint64, error) {
	size = roundUp(max(size, 1))
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.reserved.gap(m.capacity, m.region.size, size)
	if !ok {
		return 0, fmt.Errorf("cpu: no address range of %d bytes is left", size)
	}
	m.reserved = m.reserved.insert(extent{at, size})
	return m.address(at), nil
}

// Unreserve gives back a range from Reserve, and unmaps the memory in it.
func (m *Memory) Unreserve(addr uint64, size int64) {
	m.Unmap(addr, size)
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.reserved.find(m.offset(addr))
	if !ok {
		panic(fmt.Sprintf("cpu: unreserve of %#x, which is not reserved", addr))
	}
	m.reserved = m.reserved.remove(i)
}

// Map maps zeroed memory to size bytes of a reserved range, or to none. The error
// is alloc.ErrNoMemory when the device has no more.
func (m *Memory) Map(addr uint64, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.reserved.cover(m.offset(addr), size) {
		panic(fmt.Sprintf("cpu: map of %d bytes at %#x, which are not reserved", size, addr))
	}
	if m.used+size > m.capacity {
		return fmt.Errorf("cpu: %d bytes of %d are free: %w", m.capacity-m.used, m.capacity, alloc.ErrNoMemory)
	}
	return m.takePieces(m.offset(addr), size)
}

// takePieces maps Granularity bytes at a time, because Unmap may take away any
// of them.
func (m *Memory) takePieces(at, size int64) error {
	for done := int64(0); done < size; done += Granularity {
		if _, mapped := m.segments.find(at + done); mapped {
			panic(fmt.Sprintf("cpu: map of %#x, which is mapped", m.address(at+done)))
		}
		if err := m.take(at+done, Granularity); err != nil {
			m.dropRange(at, done)
			return err
		}
	}
	return nil
}

// Unmap removes the memory from size bytes of a reserved range.
func (m *Memory) Unmap(addr uint64, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropRange(m.offset(addr), size)
}

func (m *Memory) dropRange(at, size int64) {
	for i := m.segments.first(at); i < len(m.segments) && m.segments[i].at < at+size; {
		m.drop(i)
	}
}

func (m *Memory) take(at, size int64) error {
	if err := m.region.commit(at, size); err != nil {
		return fmt.Errorf("cpu: the host refuses %d bytes (%w): %w", size, err, alloc.ErrNoMemory)
	}
	m.segments = m.segments.insert(extent{at, size})
	m.used += size
	return nil
}

func (m *Memory) drop(i int) {
	s := m.segments[i]
	m.segments = m.segments.remove(i)
	m.used -= s.size
	m.region.release(s.at, s.size)
}

func (m *Memory) address(at int64) uint64 {
	return uint64(uintptr(m.region.base)) + uint64(at)
}

func (m *Memory) offset(addr uint64) int64 {
	return int64(addr - uint64(uintptr(m.region.base)))
}

// pointer returns a pointer to n bytes at addr, or false unless all of them have
// memory.
func (m *Memory) pointer(addr uint64, n int64) (unsafe.Pointer, bool) {
	at := m.offset(addr)
	m.mu.RLock()
	ok := m.segments.cover(at, n)
	m.mu.RUnlock()
	if !ok {
		return nil, false
	}
	return unsafe.Add(m.region.base, at), true
}

func (m *Memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.segments, m.reserved, m.used = nil, nil, 0
	return m.region.close()
}

// extent is a range of offsets from the region's start.
type extent struct{ at, size int64 }

// extents are disjoint ranges in ascending order.
type extents []extent

// first returns the index of the first extent that starts at or after at.
func (e extents) first(at int64) int {
	return sort.Search(len(e), func(i int) bool { return e[i].at >= at })
}

func (e extents) find(at int64) (int, bool) {
	i := e.first(at)
	return i, i < len(e) && e[i].at == at
}

// gap returns the lowest offset in [from, to) with size bytes that no extent
// touches.
func (e extents) gap(from, to, size int64) (int64, bool) {
	for _, x := range e[e.first(from):] {
		if from+size <= x.at || x.at >= to {
			break
		}
		from = x.at + x.size
	}
	return from, from+size <= to
}

// cover says whether all n bytes from at on lie in extents.
func (e extents) cover(at, n int64) bool {
	i := e.first(at+1) - 1
	for ; i >= 0 && i < len(e) && e[i].at <= at; i++ {
		end := e[i].at + e[i].size
		if at+n <= end {
			return true
		}
		n -= end - at
		at = end
	}
	return false
}

func (e extents) insert(x extent) extents { return slices.Insert(e, e.first(x.at), x) }

func (e extents) remove(i int) extents { return slices.Delete(e, i, i+1) }
