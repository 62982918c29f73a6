//go:build !linux

package probe

import "time"

// listened is when this program was loaded, close to its start.
var listened = time.Now()

// startOfSelf returns when this process began: a number for the socket's name,
// and microseconds since the epoch. Other systems have no cheap way to ask for
// another process's start, so a viewer asks the socket itself whose it is.
func startOfSelf() (ticks uint64, micros int64) {
	return uint64(listened.UnixMicro()), listened.UnixMicro()
}

// startedAt returns the time now: this system has no agents.
func startedAt(uint64) int64 { return time.Now().UnixMicro() }
