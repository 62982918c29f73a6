package probe

import (
	"time"

	"golang.org/x/sys/unix"

	"memtop/probe/protocol"
)

// startOfSelf returns when this process began: in clock ticks since boot, as
// others read it from /proc, and in microseconds since the epoch. /proc/self is
// this process also where /proc counts as another PID namespace does. Without a
// /proc the process counts as begun now, under a name that only it knows.
func startOfSelf() (ticks uint64, micros int64) {
	now := time.Now()
	ticks, err := protocol.StartOf("/proc/self/stat")
	if err != nil {
		return uint64(now.UnixMicro()), now.UnixMicro()
	}
	up, err := sinceBoot()
	if err != nil {
		return ticks, now.UnixMicro()
	}
	return ticks, now.Add(time.Duration(ticks)*protocol.Tick - up).UnixMicro()
}

// sinceBoot returns how long the machine runs, by the clock that /proc gives the
// begin of processes by. The second of the boot that /proc/stat tells is cut off
// and would make a process look up to a second older.
func sinceBoot() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
