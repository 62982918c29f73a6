package python

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/probe/protocol"
)

// open opens the folders of a path one by one, creates the last one if it is missing, and
// follows no symbolic link. Every kernel supports this. openat2 would need only one call, but
// sandboxes refuse it.
func open(root, path string) (*os.Root, error) {
	at, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer func() { _ = unix.Close(at) }() // it was only used to open the next one
	parts := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for i, part := range parts {
		if i == len(parts)-1 {
			_ = unix.Mkdirat(at, part, 0o700) // it may exist already; then that one is opened
		}
		next, err := unix.Openat(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, wayError(path, "/"+filepath.Join(parts[:i+1]...), err)
		}
		_ = unix.Close(at) // as above
		at = next
	}
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", at))
}

// wayError returns an error that says why a folder cannot be reached.
func wayError(path, part string, err error) error {
	if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		return &os.PathError{Op: "open", Path: part, Err: err}
	}
	if part == path {
		return &protocol.FolderError{Path: path, Reason: "is a symbolic link or not a folder"}
	}
	return &protocol.FolderError{Path: path, Reason: "leads through " + part + ", which is a symbolic link or not a folder"}
}
