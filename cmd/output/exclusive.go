package output

import (
	"errors"
	"os"
	"time"
)

// ErrBusy says that another process has had a lock for longer than a change takes.
var ErrBusy = errors.New("another process is changing it")

const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

// Exclusive runs f while no other process runs one for the same path: for a file that
// several change by reading it and writing it anew. The lock is a file beside it, which
// stays. It fails with [ErrBusy] after half a second.
func Exclusive(path string, f func() error) error {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close() // and with it the lock
	for range lockTries {
		if lock(file) {
			return f()
		}
		time.Sleep(lockPause)
	}
	return ErrBusy
}
