package attach

import (
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// killed is a record of the kernel's log: when, in microseconds since the machine began,
// and which process it killed for lack of memory. A pid is that of the machine, so a
// process in a container is not found by its own.
var killed = regexp.MustCompile(`^\d+,\d+,(\d+),[^;]*;[^\n]*Killed process (\d+) `)

// killedWithin is how long after a program was last heard its end may be. A program
// says once a minute at least that it runs.
const killedWithin = 2 * time.Minute

// killedByKernel reports whether the kernel's log says that it killed a process for lack
// of memory soon after a moment. It reports false if the log may not be read.
func killedByKernel(pid int, heard time.Time) bool {
	log, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(log) }() // only read from
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return false
	}
	began := time.Now().Add(-time.Duration(now.Nano()))
	record := make([]byte, 8192) // the largest that the kernel gives
	for {
		n, err := unix.Read(log, record)
		if err == unix.EPIPE { // older records were overwritten meanwhile
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		if killedIn(record[:n], pid, began, heard) {
			return true
		}
	}
}

// killedIn reports whether a record says so. The machine began at a moment of the
// kernel's clock 0.
func killedIn(record []byte, pid int, began, heard time.Time) bool {
	found := killed.FindSubmatch(record)
	if found == nil || string(found[2]) != strconv.Itoa(pid) {
		return false
	}
	micros, err := strconv.ParseInt(string(found[1]), 10, 64)
	after := began.Add(time.Duration(micros) * time.Microsecond).Sub(heard)
	return err == nil && after > -time.Second && after < killedWithin
}
