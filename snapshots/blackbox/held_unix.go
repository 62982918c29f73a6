//go:build unix

package blackbox

import (
	"io"
	"os"
	"syscall"
)

// Held reports whether a program still has the file: the program holds a POSIX
// lock on it. Its children do not inherit the lock, and the kernel removes it
// however the program ends. A process does not see its own lock.
func Held(f *os.File) bool {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	return syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock) == nil && lock.Type != syscall.F_UNLCK
}

// Hold takes the lock, for as long as the process has the file open: closing any
// descriptor of the file, this one or another, gives it back.
func Hold(f *os.File) error {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	return os.NewSyscallError("fcntl", syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock))
}
