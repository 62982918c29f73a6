package dry

import "github.com/memtop/memtop/engine/alloc"

// Memory can also map, so that a rehearsal supports expandable_segments too.
var _ alloc.Mapper = (*Memory)(nil)

// Reserve returns addresses that were never used before.
func (m *Memory) Reserve(size int64) (uint64, error) {
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
