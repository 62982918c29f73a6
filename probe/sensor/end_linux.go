package sensor

import (
	"errors"

	"golang.org/x/sys/unix"
)

// endOf returns a channel that is closed when a process has ended.
func endOf(pid int) <-chan struct{} {
	ended := make(chan struct{})
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			close(ended)
		}
		return ended // else the kernel is old: the agent is late
	}
	go func() {
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
				close(ended)
				return
			}
		}
	}()
	return ended
}
