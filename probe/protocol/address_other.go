//go:build !linux

package protocol

import "fmt"

// Reach returns a name for a socket's path that fits into an address.
func Reach(path string) (name string, release func(), err error) {
	if len(path) > maxPath {
		return "", nil, fmt.Errorf("the path of socket %s is longer than %d bytes: set MEMTOP_DIR to a shorter one", path, maxPath)
	}
	return path, func() {}, nil
}
