//go:build !linux

package command

// GiveWay does nothing on systems without a priority for each thread.
func GiveWay() {}
