//go:build !linux

package python

import "os"

// open creates the folder if it is missing, and opens it. Links are followed: here memtop
// attaches to no running programs, and opens only its own user's folder.
func open(_, path string) (*os.Root, error) {
	_ = os.Mkdir(path, 0o700) // it may exist already; then that one is opened
	return os.OpenRoot(path)
}
