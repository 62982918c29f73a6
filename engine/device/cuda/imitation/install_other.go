//go:build !linux

package imitation

import "errors"

// Install fails on this system.
func Install(string) error { return errors.New("a GPU is imitated on Linux only") }
