//go:build linux || darwin

package hostbuild

import (
	"errors"
	"os"
	"syscall"

	"github.com/ebitengine/purego"
)

func load(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(library uintptr, name string) (uintptr, error) {
	return purego.Dlsym(library, name)
}

// lock waits until no other process has the lock of a file, and takes it.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return func() { _ = file.Close() }, err // which gives the lock back
	}
}
