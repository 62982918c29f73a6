//go:build unix

package program

import (
	"os"
	"os/signal"
	"syscall"
)

// snapshotSignal returns a channel with a value for each SIGUSR1, which requests
// a snapshot. stop ends that.
func snapshotSignal() (asked <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1) // never closed; one request waits at most
	signal.Notify(c, syscall.SIGUSR1)
	return c, func() { signal.Stop(c) }
}
