package probe

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// ticksPerSecond is the unit of /proc, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// startOfSelf returns when this process began: in clock ticks since boot, and
// in microseconds since the epoch.
func startOfSelf() (ticks uint64, micros int64) {
	ticks, err := startOfFile("/proc/self/stat")
	if err != nil {
		return uint64(time.Now().UnixMicro()), time.Now().UnixMicro()
	}
	return ticks, microsOf(ticks)
}

// microsOf turns clock ticks since boot into microseconds since the epoch.
func microsOf(ticks uint64) int64 {
	return bootSecond()*1e6 + int64(ticks)*(1e6/ticksPerSecond)
}

// bootSecond returns when the machine began, in seconds since the epoch.
func bootSecond() int64 {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Now().Unix()
	}
	_, rest, _ := bytes.Cut(stat, []byte("\nbtime "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	seconds, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return time.Now().Unix()
	}
	return seconds
}
