package dry

import (
	"math"

	"github.com/memtop/memtop/engine/alloc"
)

// Memory is a driver for engine/alloc whose segments are only addresses. It is
// used by one goroutine at a time.
type Memory struct {
	capacity int64
	used     int64
	next     uint64
	sizes    map[uint64]int64
}

// firstAddress is the address of the first segment. It is not 0, which is no
// valid address.
const firstAddress = 1 << 32

// granularity is how segments are aligned.
const granularity = 2 << 20

// NewMemory returns memory of that many bytes; 0 means unlimited.
func NewMemory(capacity int64) *Memory {
	if capacity == 0 {
		capacity = math.MaxInt64
	}
	return &Memory{capacity: capacity, next: firstAddress, sizes: make(map[uint64]int64)}
}

// Malloc returns addresses that were never used before.
func (m *Memory) Malloc(size int64) (uint64, error) {
	if size > m.capacity-m.used {
		return 0, alloc.ErrNoMemory
	}
	addr := m.next
	m.used += size
	m.sizes[addr] = size
	m.next += uint64((size + granularity - 1) / granularity * granularity)
	return addr, nil
}

// Free takes the addresses back.
func (m *Memory) Free(addr uint64) {
	m.used -= m.sizes[addr]
	delete(m.sizes, addr)
}

// MemInfo returns the free and the total bytes.
func (m *Memory) MemInfo() (free, total int64) { return m.capacity - m.used, m.capacity }
