//go:build !linux

package cpu

import (
	"fmt"
	"runtime"

	"github.com/memtop/memtop/engine/alloc"
)

// OpenFile fails: regions are no mapped memory on this system.
func (b *Backend) OpenFile(path string) (alloc.Driver, error) { return nil, b.CheckFile(path) }

// CloseFile does nothing.
func (b *Backend) CloseFile() error { return nil }

// CheckFile fails as OpenFile does.
func (*Backend) CheckFile(path string) error {
	return fmt.Errorf("%s: memory in a file needs Linux, and this is %s", path, runtime.GOOS)
}
