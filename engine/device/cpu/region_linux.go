package cpu

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Regions start at the same addresses in every run, where programs have nothing
// else: at 16 TiB, or a TiB or more behind it when another region is there.
const (
	firstBase = 1 << 44
	baseStep  = 1 << 40
	baseTries = 16
)

// Reservations take addresses only, of which there are plenty.
const (
	reservable    = 64      // times the capacity
	maxReservable = 1 << 39 // bytes
)

// HostMemory returns the bytes of memory that the machine has, or
// DefaultCapacity when the system does not say.
func HostMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return DefaultCapacity
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// region is a range of addresses. Parts of it get memory by commit and lose it
// by release; touching any other part is a fault.
type region struct {
	base unsafe.Pointer
	size int64
}

func reserveRegion(size int64) (region, error) {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE
	for try := range baseTries {
		hint := unsafe.Add(nil, firstBase+try*baseStep)
		base, err := unix.MmapPtr(-1, 0, hint, uintptr(size), unix.PROT_NONE, flags|unix.MAP_FIXED_NOREPLACE)
		if err == nil && base == hint {
			return region{base, size}, nil
		}
		if err == nil { // a kernel older than the flag took it as a hint
			_ = unix.MunmapPtr(base, uintptr(size))
		}
	}
	return reserveAnywhere(size, flags)
}

// reserveAnywhere takes the addresses that the system gives. One Granularity
// more is reserved, so that the start can be rounded.
func reserveAnywhere(size int64, flags int) (region, error) {
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(size+Granularity), unix.PROT_NONE, flags)
	if err != nil {
		return region{}, fmt.Errorf("mmap: %w", err)
	}
	skip := -int64(uintptr(base)) & (Granularity - 1)
	if skip > 0 {
		_ = unix.MunmapPtr(base, uintptr(skip))
	}
	if rest := Granularity - skip; rest > 0 {
		_ = unix.MunmapPtr(unsafe.Add(base, skip+size), uintptr(rest))
	}
	return region{unsafe.Add(base, skip), size}, nil
}

func (r region) bytes(at, size int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(r.base, at)), size)
}

// commit makes a part readable and writable; it holds zeros. Large pages are
// asked for, and it does not matter if there are none.
func (r region) commit(at, size int64) error {
	part := r.bytes(at, size)
	if err := unix.Mprotect(part, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return fmt.Errorf("mprotect: %w", err)
	}
	_ = unix.Madvise(part, unix.MADV_HUGEPAGE)
	return nil
}

// release gives the pages of a part back to the system and makes touching it a
// fault.
func (r region) release(at, size int64) {
	part := r.bytes(at, size)
	if err := unix.Madvise(part, unix.MADV_DONTNEED); err != nil {
		panic(fmt.Sprintf("cpu: madvise: %v", err))
	}
	if err := unix.Mprotect(part, unix.PROT_NONE); err != nil {
		panic(fmt.Sprintf("cpu: mprotect: %v", err))
	}
}

func (r region) close() error {
	if err := unix.MunmapPtr(r.base, uintptr(r.size)); err != nil {
		return fmt.Errorf("cpu: munmap: %w", err)
	}
	return nil
}
