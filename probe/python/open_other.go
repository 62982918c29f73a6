//go:build !linux

package python

import "os"

// open creates the folder where there is none, and opens it. Links are followed: here
// memtop goes into no programs, and its user's own folder is the only one.
func open(_, path string) (*os.Root, error) {
	_ = os.Mkdir(path, 0o700) // it may be there; what is there is opened
	return os.OpenRoot(path)
}
