package probe

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// reach returns a name for a socket's path that fits into an address, which
// has room for 107 bytes: a longer path is reached through its open folder. The
// name is good until release is called.
func reach(path string) (name string, release func(), err error) {
	if len(path) <= maxSocketPath {
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
