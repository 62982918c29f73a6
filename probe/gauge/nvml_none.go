//go:build !cgo || !linux

package gauge

import (
	"errors"
	"runtime"
)

// open uses the driver's own program.
func open() (library, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("memtop asks NVIDIA's driver on Linux only")
	}
	return openSMI()
}
