package alloc

import (
	"testing"
	"time"
)

// warmClock returns a clock that goes by the processor's counter.
func warmClock(t *testing.T) *clock {
	t.Helper()
	if !counts {
		t.Skip("this processor promises no counter of one rate")
	}
	c := newClock()
	for deadline := time.Now().Add(time.Minute); c.trusted == 0; {
		if c.now(); time.Now().After(deadline) {
			t.Fatal("the counter was not relied on within a minute")
		}
	}
	return &c
}

// off returns by how much the clock is off the system's at least.
func off(c *clock) time.Duration {
	before := time.Since(c.started)
	told := time.Duration(c.now()-c.startedMicros) * time.Microsecond
	after := time.Since(c.started)
	return max(before.Truncate(time.Microsecond)-told, told-after)
}

func TestTheClockIsTheSystems(t *testing.T) {
	c := warmClock(t)
	byCounter := 0
	for deadline := time.Now().Add(time.Minute); byCounter < 100_000; {
		last := c.last
		if d := off(c); d > trustedFor {
			t.Fatalf("the clock is %s off", d)
		}
		if c.last == last {
			byCounter++
		}
		if time.Now().After(deadline) {
			t.Fatalf("the counter told the time %d times in a minute", byCounter)
		}
	}
}

func TestWhateverBecomesOfTheCounter(t *testing.T) {
	for name, disturb := range map[string]func(c *clock){
		"it went back":                       func(c *clock) { c.last.count += 1 << 40 },
		"it went far ahead":                  func(c *clock) { c.last.count -= 1 << 40 },
		"it began anew":                      func(c *clock) { c.last.count, c.first.count = 1<<62, 1<<62 },
		"its rate was measured too high":     func(c *clock) { c.rate, c.trusted = c.rate*10, c.trusted/10 },
		"it went on while the machine slept": func(c *clock) { c.first.count -= 9 * (c.last.count - c.first.count); c.trusted = 0 },
		"it stood while the machine ran":     func(c *clock) { c.first.count += (c.last.count - c.first.count) / 10 * 9; c.trusted = 0 },
		"its rate was measured over a moment": func(c *clock) {
			c.first = reading{c.last.nanos - int64(measuredFor), c.last.count - 1}
			c.trusted = 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := warmClock(t)
			disturb(c)
			for before := c.now(); time.Since(c.started) < 50*time.Millisecond; {
				d := off(c)
				if d > trustedFor+time.Microsecond {
					t.Fatalf("the clock is %s off", d)
				}
				if c.now() < before {
					t.Fatal("it went back")
				}
				before = c.now()
			}
		})
	}
}
