//go:build !unix

package data

import (
	"io"
	"os"
)

// mapFile reads the whole file: this system has no mapping that we know of.
func mapFile(f *os.File, _ int64) (raw []byte, unmap func() error, err error) {
	raw, err = io.ReadAll(f)
	return raw, func() error { return nil }, err
}
