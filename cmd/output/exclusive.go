package output

import (
	"errors"
	"os"
)

// ErrBusy says that another process has the lock of a file.
var ErrBusy = errors.New("another process is changing it")

// own takes the lock of the file that has a name. It fails with [ErrBusy] if
// another process has the lock, or has just given the name to another file.
func own(file *os.File, name string) error {
	if lock(file) {
		found, _ := file.Stat()
		if now, _ := os.Lstat(name); os.SameFile(found, now) {
			return nil
		}
	}
	return ErrBusy
}
