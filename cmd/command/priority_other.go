//go:build !linux

package command

// GiveWay does nothing where threads have no priority of their own.
func GiveWay() {}
