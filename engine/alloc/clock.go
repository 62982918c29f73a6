package alloc

import (
	"math/bits"
	"time"
)

// # The clock
//
// Reading the system's clock takes about 30 ns, and a free with an allocation
// reads it twice. So the processor's own counter measures the time since the last
// reading of the system's clock, as long as that time is short: a wrong counter
// can never make a larger error than that. If the counter is not reliable, the
// allocator reads the system's clock each time.

// clock gives the time of events. It never goes back: it uses only differences of
// the monotonic clock. One goroutine at a time uses it.
type clock struct {
	started       time.Time
	startedMicros int64 // since the epoch

	first   reading // the start of measuring the counter's rate
	last    reading
	rate    uint64 // nanoseconds a count, times 2³²
	trusted uint64 // counts after last for which the counter is trusted, 0 for never
	latest  int64  // the last time that now returned, nanoseconds since started
}

// reading is both clocks at one moment.
type reading struct {
	nanos int64 // since started
	count uint64
}

const (
	// trustedFor is how long the counter is trusted.
	trustedFor = 50 * time.Microsecond
	// measuredFor is the shortest time for measuring the counter's rate.
	// measuredAnew is when measuring starts again: a virtual machine may move to
	// another host.
	measuredFor, measuredAnew = 10 * time.Millisecond, time.Second
	// readWithin is how long reading both clocks takes at most, unless the program
	// was interrupted.
	readWithin = time.Microsecond
)

func newClock() clock {
	c := clock{started: time.Now()}
	c.startedMicros = c.started.UnixMicro()
	return c
}

// now returns the time in microseconds since the epoch.
func (c *clock) now() int64 {
	var nanos int64
	// A counter that went back looks like centuries of passed time.
	if passed := counter() - c.last.count; passed < c.trusted {
		nanos = c.last.nanos + int64(passed*c.rate>>32)
	} else {
		nanos = c.read()
	}
	c.latest = max(c.latest, nanos)
	return c.startedMicros + c.latest/int64(time.Microsecond)
}

// read reads the system's clock, and sets the counter by it.
func (c *clock) read() int64 {
	if !counts {
		return int64(time.Since(c.started))
	}
	before := counter()
	at := reading{int64(time.Since(c.started)), counter()}
	c.last, c.trusted = at, 0
	passed := at.nanos - c.first.nanos
	switch {
	case c.first.count == 0 || at.count <= c.first.count || passed > 2*int64(measuredAnew):
		c.first = at
	case passed >= int64(measuredFor):
		if same := c.measure(passed, at.count-c.first.count); !same || passed >= int64(measuredAnew) {
			c.first = at
		} else if c.within(at.count-before, readWithin) {
			c.trusted, _ = bits.Div64(uint64(trustedFor)>>32, uint64(trustedFor)<<32, c.rate)
		}
	}
	return at.nanos
}

// measure sets the rate from a time in nanoseconds and the counts in it. It
// reports whether the rate is within 1% of the last one: after a machine slept,
// the counter may or may not have counted that time.
func (c *clock) measure(nanos int64, counted uint64) (same bool) {
	before := c.rate
	high, low := bits.Mul64(uint64(nanos), 1<<32)
	if high >= counted {
		c.rate = 0
		return false
	}
	c.rate, _ = bits.Div64(high, low, counted)
	return c.rate > 0 && max(before, c.rate)-min(before, c.rate) < before/100
}

// within reports whether a count is at most a given time.
func (c *clock) within(counted uint64, limit time.Duration) bool {
	high, nanos := bits.Mul64(counted, c.rate)
	return high == 0 && nanos>>32 <= uint64(limit)
}
