//go:build !cgo || !linux

package gauge

import (
	"errors"
	"runtime"
)

// open says why this program cannot ask the driver.
func open() (library, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("memtop asks NVIDIA's driver on Linux only")
	}
	return nil, errors.New("this memtop was built without cgo, which asking the NVIDIA driver needs: build it with CGO_ENABLED=1")
}
