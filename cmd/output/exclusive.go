package output

import (
	"errors"
	"os"
	"time"
)

// ErrBusy says that another process has held a lock longer than a change takes.
var ErrBusy = errors.New("another process is changing it")

const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

// Exclusive runs f while no other process does so for the same path. It is for a
// file that several processes read and then rewrite. The lock is a file beside
// it, which stays. Exclusive fails with [ErrBusy] after half a second.
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
