//go:build !unix

package data

import "io"

// mapFile reads the whole file: this system has no mapping that we know of.
func mapFile(path string) (raw []byte, unmap func() error, err error) {
	f, _, err := openOrdinary(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err = io.ReadAll(f)
	return raw, func() error { return nil }, err
}
