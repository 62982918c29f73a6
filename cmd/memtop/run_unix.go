//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// become replaces this program by another one. The other program then gets all
// signals, and signals that were ignored when memtop began stay ignored.
func become(path string, args, environment []string) error {
	signal.Reset()
	return syscall.Exec(path, args, environment)
}
