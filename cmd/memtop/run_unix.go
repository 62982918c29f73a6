//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// become replaces this program by another one. Signals are the other's from then
// on, and what was ignored when this one began still is.
func become(path string, args, environment []string) error {
	signal.Reset()
	return syscall.Exec(path, args, environment)
}
