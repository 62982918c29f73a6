package train

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is how long the calling thread has computed.
func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
