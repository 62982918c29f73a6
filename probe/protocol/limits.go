package protocol

import (
	"strconv"
	"time"
)

// How often a stream says something. A viewer asks for an interval, which is held
// between the smallest and the largest.
const (
	MinInterval     = 50 * time.Millisecond
	DefaultInterval = 100 * time.Millisecond
	MaxInterval     = time.Minute
	// Heartbeat is how often a stream says something when nothing happens, so that
	// either side notices when the other has gone.
	Heartbeat = time.Second
)

// Limits of both sides.
const (
	MaxHeaderBytes = 16 << 10         // of a request or an answer
	IdleTimeout    = 30 * time.Second // of a connection between requests
	MaxDevices     = 1024             // device numbers, which index lists, are smaller
)

// Duration returns a time as a parameter of a request has it: a number and one unit.
func Duration(d time.Duration) string {
	if ms := d / time.Millisecond; d%time.Millisecond == 0 {
		return strconv.FormatInt(int64(ms), 10) + "ms"
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}
