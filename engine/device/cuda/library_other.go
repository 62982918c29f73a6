//go:build !linux

package cuda

import "runtime"

// openLibrary returns the error for a system that is not supported.
func openLibrary() (Driver, error) {
	return nil, &UnavailableError{Reason: "CUDA devices are supported on linux, not on " + runtime.GOOS}
}

// openBLAS finds nothing.
func openBLAS() blasLibrary { return nil }
