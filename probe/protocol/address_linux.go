package protocol

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Reach returns a name for a socket's path that fits into a socket address, which
// has room for 107 bytes. It reaches a longer path through the open folder. The
// name is valid until the caller calls release.
func Reach(path string) (name string, release func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	const justTheFolder = unix.O_PATH
	folder, err := os.OpenFile(filepath.Dir(path), justTheFolder|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", nil, err
	}
	name = "/proc/self/fd/" + strconv.Itoa(int(folder.Fd())) + "/" + filepath.Base(path)
	return name, func() { _ = folder.Close() }, nil // nothing was written
}
