package replay

import (
	"errors"

	"github.com/memtop/memtop/engine/alloc"
)

// counted is the driver of a device that only counts its bytes.
type counted struct {
	waits
	total    int64 // what the device has
	least    int64 // the process's recorded memory now: the device has room for at least this
	used     int64
	next     uint64
	segments map[uint64]int64
}

const (
	// plenty is the memory of a device if it is unknown. That leaves addresses for a
	// few thousand times as much.
	plenty    = 1 << 50
	firstAddr = 1 << 40
	lastAddr  = 1 << 62
)

var errAddresses = errors.New("there are no addresses left")

func newCounted(total int64) *counted {
	return &counted{waits: newWaits(), total: total, next: firstAddr, segments: make(map[uint64]int64)}
}

// take counts bytes and reports whether the device has them.
func (c *counted) take(size int64) bool {
	if size > max(c.total, c.least)-c.used {
		return false
	}
	c.used += size
	return true
}

// Malloc never uses an address again.
func (c *counted) Malloc(size int64) (uint64, error) {
	if !c.take(size) {
		return 0, alloc.ErrNoMemory
	}
	addr, err := c.Reserve(size)
	c.segments[addr] = size
	return addr, err
}

// Free gives back memory from Malloc.
func (c *counted) Free(addr uint64) {
	c.used -= c.segments[addr]
	delete(c.segments, addr)
}

// MemInfo returns the free and the total bytes.
func (c *counted) MemInfo() (free, total int64) {
	total = max(c.total, c.least)
	return max(total-c.used, 0), total
}

// Reserve hands out addresses.
func (c *counted) Reserve(size int64) (uint64, error) {
	const unit = 2 << 20
	if uint64(size) > lastAddr-c.next {
		return 0, errAddresses
	}
	addr := c.next
	c.next += (uint64(size) + unit - 1) / unit * unit
	return addr, nil
}

// Unreserve forgets the addresses.
func (c *counted) Unreserve(uint64, int64) {}

// Map counts the bytes.
func (c *counted) Map(_ uint64, size int64) error {
	if !c.take(size) {
		return alloc.ErrNoMemory
	}
	return nil
}

// Unmap subtracts the bytes.
func (c *counted) Unmap(_ uint64, size int64) { c.used -= size }
