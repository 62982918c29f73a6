//go:build unix

package data

import (
	"fmt"
	"os"
	"syscall"
)

// mapFile returns a file's bytes as memory that the system fills page by page
// when it is read, and a function that ends that. The file may be closed.
func mapFile(f *os.File, size int64) (raw []byte, unmap func() error, err error) {
	if size == 0 {
		return nil, func() error { return nil }, nil
	}
	if size != int64(int(size)) {
		return nil, nil, &FormatError{f.Name(), "larger than the address space"}
	}
	raw, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping %s: %w", f.Name(), err)
	}
	return raw, func() error { return syscall.Munmap(raw) }, nil
}
