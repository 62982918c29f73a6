package protocol

import (
	"strconv"
	"time"
)

// How often a stream sends. A viewer asks for an interval, which is limited to
// the smallest and the largest.
const (
	MinInterval     = 50 * time.Millisecond
	DefaultInterval = 100 * time.Millisecond
	MaxInterval     = time.Minute
	// Heartbeat is how often a stream sends something while nothing happens, so that
	// each side notices when the other has gone.
	Heartbeat = time.Second
)

// Limits of both sides.
const (
	MaxHeaderBytes = 16 << 10         // of a request or an answer
	IdleTimeout    = 30 * time.Second // of a connection between requests
	MaxDevices     = 1024             // device numbers are smaller, because they index lists
)

// Duration returns a time in the form of a request's parameter: a number and one
// unit.
func Duration(d time.Duration) string {
	if ms := d / time.Millisecond; d%time.Millisecond == 0 {
		return strconv.FormatInt(int64(ms), 10) + "ms"
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}
