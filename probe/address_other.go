//go:build !linux

package probe

import "fmt"

// reach returns a name for a socket's path that fits into an address.
func reach(path string) (name string, release func(), err error) {
	if len(path) > maxSocketPath {
		return "", nil, fmt.Errorf("the path of socket %s is longer than %d bytes: set MEMTOP_DIR to a shorter one", path, maxSocketPath)
	}
	return path, func() {}, nil
}
