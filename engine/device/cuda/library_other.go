//go:build !linux

package cuda

import "runtime"

// openLibrary says that this system is not one where the driver is looked for.
func openLibrary() (Driver, error) {
	return nil, &UnavailableError{Reason: "CUDA devices are supported on linux, not on " + runtime.GOOS}
}

// openBLAS finds nothing.
func openBLAS() blasLibrary { return nil }
