package null

import "memtop/engine/alloc"

// first is an address that no program has, so that a use of one is noticed.
const first = 1 << 44

// Memory hands out addresses without memory behind them. It is a driver for the
// allocator, and belongs to one goroutine at a time. The zero value has as much
// memory as addresses reach; Capacity limits it.
type Memory struct {
	Capacity int64 // in bytes, 0 for no limit

	sizes    map[uint64]int64
	used     int64
	reserved uint64 // addresses handed out so far
}

// Malloc returns addresses that were not handed out before.
func (m *Memory) Malloc(size int64) (uint64, error) {
	if err := m.take(size); err != nil {
		return 0, err
	}
	addr := m.next(size)
	if m.sizes == nil {
		m.sizes = make(map[uint64]int64)
	}
	m.sizes[addr] = size
	return addr, nil
}

// Free takes back what Malloc returned.
func (m *Memory) Free(addr uint64) {
	m.used -= m.sizes[addr]
	delete(m.sizes, addr)
}

// MemInfo returns what is left of the capacity, and the capacity.
func (m *Memory) MemInfo() (free, total int64) {
	return m.capacity() - m.used, m.capacity()
}

// Reserve returns a range of addresses.
func (m *Memory) Reserve(size int64) (uint64, error) { return m.next(size), nil }

// Unreserve does nothing: addresses are never used again.
func (m *Memory) Unreserve(uint64, int64) {}

// Map counts memory as used.
func (m *Memory) Map(_ uint64, size int64) error { return m.take(size) }

// Unmap counts memory as free.
func (m *Memory) Unmap(_ uint64, size int64) { m.used -= size }

func (m *Memory) capacity() int64 {
	if m.Capacity == 0 {
		return 1 << 45
	}
	return m.Capacity
}

func (m *Memory) take(size int64) error {
	if m.used+size > m.capacity() {
		return alloc.ErrNoMemory
	}
	m.used += size
	return nil
}

func (m *Memory) next(size int64) uint64 {
	const page = 2 << 20
	addr := first + m.reserved
	m.reserved += uint64(size+page-1) / page * page
	return addr
}
