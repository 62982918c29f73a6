//go:build !unix

package data

import "os"

// mapFile reads the whole file: this system has no mapping that we know of.
func mapFile(f *os.File, size int64) (raw []byte, unmap func() error, err error) {
	raw, err = readAt(f, 0, int(size))
	return raw, func() error { return nil }, err
}
