//go:build !linux

package imitation

import "errors"

// Install refuses.
func Install(string) error { return errors.New("a GPU is imitated on Linux only") }
