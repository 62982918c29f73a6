//go:build !linux

package output

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// unnamed fails: only Linux has files without a name.
var unnamed = func(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// link fails likewise.
func (t *temporary) link(string) error { return errors.ErrUnsupported }

// startOf returns 0: the start of a process is not used on this system.
func startOf(int) uint64 { return 0 }

// runs reports whether any process has that pid.
func runs(pid int, _ uint64) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
