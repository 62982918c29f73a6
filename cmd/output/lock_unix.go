//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package output

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the lock of a file, which its process keeps until it closes the file
// or dies. It reports false if another process has the lock. It also reports true
// on file systems without locks.
func lock(file *os.File) bool {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return !errors.Is(err, unix.EWOULDBLOCK)
}

// syncFolder makes the names in a file's folder last through a power failure.
// Some folders may be written to but not opened, and some file systems have no
// such call; the file is whole in any case.
func syncFolder(path string) error {
	folder, err := os.Open(folderOf(path))
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
