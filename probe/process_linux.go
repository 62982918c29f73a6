package probe

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/snapshots/procfs"
)

// startOfSelf returns when this process began: in clock ticks since boot, as
// other processes read it from /proc, and in microseconds since the epoch.
// /proc/self is this process even if /proc belongs to another PID namespace.
// Without a /proc the process counts as started now, and its socket's name is one
// that no other process can work out.
func startOfSelf() (ticks uint64, micros int64) {
	ticks, err := procfs.StartOf("/proc/self/stat")
	if err != nil {
		now := time.Now().UnixMicro()
		return uint64(now), now
	}
	return ticks, startedAt(ticks)
}

// startedAt returns when a process began, in microseconds since the epoch, by its start
// in clock ticks since boot.
func startedAt(ticks uint64) int64 {
	boot, err := bootTime(time.Now, sinceBoot)
	if err != nil {
		return time.Now().UnixMicro()
	}
	return boot.Add(time.Duration(ticks) * procfs.Tick).UnixMicro()
}

// readings is how often both clocks are read for the time of the boot.
const readings = 8

// bootTime returns when the machine booted, from the wall clock and the clock
// that counts from the boot. On a busy machine another process may run between
// the two readings, and this process would look older than it is. Then a viewer
// could not see that it is the restart of a program that ended before. So
// bootTime reads the clocks several times and uses the pair that it read most
// quickly.
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

// sinceBoot returns how long the machine has run, by the clock that /proc uses
// for the start of processes. The boot time in /proc/stat is in whole seconds and
// would make a process look up to a second older.
func sinceBoot() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
