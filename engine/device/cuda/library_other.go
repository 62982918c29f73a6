//go:build !linux

package cuda

import (
	"iter"
	"runtime"
)

// openLibrary returns the error for a system that is not supported.
func openLibrary() (Driver, error) {
	return nil, &UnavailableError{Reason: "CUDA devices are supported on linux, not on " + runtime.GOOS}
}

// Libraries finds none.
func Libraries([]string, []string) iter.Seq[Found] { return func(func(Found) bool) {} }

// blasLibraries finds none.
func blasLibraries() iter.Seq[foundBLAS] { return func(func(foundBLAS) bool) {} }
