//go:build !linux

package prebuilt

import "errors"

// Install fails on this system.
func (l Library) Install(string, ...string) error {
	return errors.New(l.Name + " is for Linux only")
}
