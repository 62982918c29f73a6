package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// narrowPipe returns a pipe that holds a few lines only: a pair of sockets, since a pipe
// of the system holds a page and takes nothing more until all of it has been read.
func narrowPipe() (r, w *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	err = unix.SetsockoptInt(ends[1], unix.SOL_SOCKET, unix.SO_SNDBUF, 1) // the smallest there is
	return os.NewFile(uintptr(ends[0]), "lines"), os.NewFile(uintptr(ends[1]), "output"), err
}
