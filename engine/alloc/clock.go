package alloc

import "time"

// clock gives the time of events. It never goes back, because it uses only
// differences of the monotonic clock.
type clock struct {
	started time.Time
	micros  int64 // since the epoch, when it started
}

func newClock() clock {
	now := time.Now()
	return clock{now, now.UnixMicro()}
}

// now returns the time in microseconds since the epoch. It is not inlined so that
// [Allocator.tick] is: a program that records nothing then pays a check.
//
//go:noinline
func (c *clock) now() int64 { return c.micros + time.Since(c.started).Microseconds() }
