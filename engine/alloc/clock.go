package alloc

import (
	"math/bits"
	"time"
)

// # The clock
//
// The system's clock takes some 30 ns to read, and a free with an allocation reads it
// twice. So the processor's own counter says how much time has passed since the system's
// clock was read, as long as that is little: whatever becomes of the counter, the time is
// never further off than that. Where the counter cannot be relied on, the system's clock
// is read each time.

// clock tells the time of events. It never goes back: only differences of the monotonic
// clock are used. One goroutine at a time uses it.
type clock struct {
	started       time.Time
	startedMicros int64 // since the epoch

	first   reading // what the counter's rate is measured from
	last    reading
	rate    uint64 // nanoseconds a count, times 2³²
	trusted uint64 // counts after last that the counter is relied on, 0 for not at all
	latest  int64  // the time that was told last, nanoseconds since started
}

// reading is both clocks at one moment.
type reading struct {
	nanos int64 // since started
	count uint64
}

const (
	// trustedFor is how long the counter is relied on.
	trustedFor = 50 * time.Microsecond
	// measuredFor is how long its rate is measured at least, and measuredAnew after how
	// long that begins again: a machine may be moved to another one.
	measuredFor, measuredAnew = 10 * time.Millisecond, time.Second
	// readWithin is how long reading both clocks takes, unless the program was
	// interrupted there.
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
	// A count that went back is a passed time of centuries.
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

// measure sets the rate by so many nanoseconds in which so much was counted, and reports
// whether it is the same as before but for a hundredth: after a machine slept, that
// time may have been counted or not.
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

// within reports whether a count stands for no more than a time.
func (c *clock) within(counted uint64, limit time.Duration) bool {
	high, nanos := bits.Mul64(counted, c.rate)
	return high == 0 && nanos>>32 <= uint64(limit)
}
