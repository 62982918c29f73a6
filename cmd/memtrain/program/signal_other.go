//go:build !unix

package program

import "os"

// snapshotSignal never has a value: this system has no such signal.
func snapshotSignal() (asked <-chan os.Signal, stop func()) {
	return nil, func() {}
}
