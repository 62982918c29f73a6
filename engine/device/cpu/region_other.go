//go:build !linux

package cpu

import (
	"errors"
	"unsafe"
)

// region is a range of addresses. On this system it is ordinary memory of the
// program, taken as it is touched: released parts are zeroed and cannot fault,
// and use after free is found by the check before every operation alone.
type region struct {
	base   unsafe.Pointer
	size   int64
	memory []byte // holds the memory
}

// Reservations may cost memory here, so there is room for few.
const (
	reservable    = 2       // times the capacity
	maxReservable = 1 << 36 // bytes
)

// HostMemory returns how much memory a host has here: not too much to take.
func HostMemory() int64 { return 4 * DefaultCapacity }

func reserveRegion(size int64) (r region, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("no address range of that size")
		}
	}()
	memory := make([]byte, size+Granularity)
	base := unsafe.Pointer(&memory[0])
	skip := -int64(uintptr(base)) & (Granularity - 1)
	return region{unsafe.Add(base, skip), size, memory}, nil
}

func (r region) commit(_, _ int64) error { return nil }

func (r region) release(at, size int64) {
	clear(unsafe.Slice((*byte)(unsafe.Add(r.base, at)), size))
}

func (r region) close() error { return nil }
