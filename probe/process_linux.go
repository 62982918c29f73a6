package probe

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/probe/protocol"
)

// startOfSelf returns when this process began: in clock ticks since boot, as
// others read it from /proc, and in microseconds since the epoch. /proc/self is
// this process also where /proc counts as another PID namespace does. Without a
// /proc the process counts as begun now, under a name that only it knows.
func startOfSelf() (ticks uint64, micros int64) {
	ticks, err := protocol.StartOf("/proc/self/stat")
	if err != nil {
		now := time.Now().UnixMicro()
		return uint64(now), now
	}
	boot, err := bootTime(time.Now, sinceBoot)
	if err != nil {
		return ticks, time.Now().UnixMicro()
	}
	return ticks, boot.Add(time.Duration(ticks) * protocol.Tick).UnixMicro()
}

// readings is how often both clocks are read for the time of the boot.
const readings = 8

// bootTime returns when the machine began, from the clock of the day and the one
// that counts from the boot. On a busy machine another process may run between the
// two readings, and a process would look that much older than it is: old enough to
// be taken for no restart of one that ended before it began. So they are read
// several times, and the pair that was read most quickly counts.
func bootTime(now func() time.Time, sinceBoot func() (time.Duration, error)) (boot time.Time, err error) {
	quickest := time.Duration(math.MaxInt64)
	for range readings {
		before := now()
		up, err := sinceBoot()
		if err != nil {
			return time.Time{}, err
		}
		if took := now().Sub(before); took < quickest {
			boot, quickest = before.Add(-up), took
		}
	}
	return boot, nil
}

// sinceBoot returns how long the machine has run, by the clock in which /proc gives
// the start of processes. The boot time in /proc/stat is in whole seconds and would
// make a process look up to a second older.
func sinceBoot() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
