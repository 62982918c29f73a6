package dry

import (
	"errors"
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

// Memory can also map, so that a rehearsal supports expandable_segments too.
var _ alloc.Mapper = (*Memory)(nil)

// Addresses of segments. None is 0, which is no valid address.
const firstAddress, lastAddress = 1 << 32, 1 << 62

var errAddresses = errors.New("there are no addresses left")

// granularity is how segments are aligned.
const granularity = 2 << 20

// NewMemory returns memory of that many bytes; 0 means unlimited.
func NewMemory(capacity int64) *Memory {
	if capacity == 0 {
		capacity = math.MaxInt64
	}
	return &Memory{capacity: capacity, next: firstAddress, sizes: make(map[uint64]int64)}
}

// SetCapacity sets how many bytes there are, which may be fewer than are used.
func (m *Memory) SetCapacity(bytes int64) { m.capacity = bytes }

// Malloc returns addresses that were never used before.
func (m *Memory) Malloc(size int64) (uint64, error) {
	if err := m.Map(0, size); err != nil {
		return 0, err
	}
	addr, err := m.Reserve(size)
	m.sizes[addr] = size
	return addr, err
}

// Free takes the addresses back.
func (m *Memory) Free(addr uint64) {
	m.used -= m.sizes[addr]
	delete(m.sizes, addr)
}

// MemInfo returns the free and the total bytes.
func (m *Memory) MemInfo() (free, total int64) { return max(m.capacity-m.used, 0), m.capacity }

// Reserve returns addresses that were never used before.
func (m *Memory) Reserve(size int64) (uint64, error) {
	if uint64(size) > lastAddress-m.next {
		return 0, errAddresses
	}
	addr := m.next
	m.next += uint64((size + granularity - 1) / granularity * granularity)
	return addr, nil
}

// Unreserve does nothing: addresses are not used again.
func (m *Memory) Unreserve(uint64, int64) {}

// Map counts memory as used.
func (m *Memory) Map(_ uint64, size int64) error {
	if size > m.capacity-m.used {
		return alloc.ErrNoMemory
	}
	m.used += size
	return nil
}

// Unmap counts memory as free.
func (m *Memory) Unmap(_ uint64, size int64) { m.used -= size }
