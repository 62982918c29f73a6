package output

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/snapshots/procfs"
)

// unnamed makes a file without a name in a folder. A test replaces it.
var unnamed = func(folder string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(folder, os.O_RDWR|unix.O_TMPFILE, mode)
}

// link gives a nameless file a name that is not taken.
func (t *temporary) link(name string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", t.file.Fd()), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// startOf returns when a process began, in clock ticks since boot, or 0 if it has
// ended. A zombie has ended.
func startOf(pid int) uint64 {
	ticks, _ := procfs.StartOf(procfs.Of(pid, "stat")) // 0 with every error
	return ticks
}

// runs reports whether the process with that start still runs.
func runs(pid int, start uint64) bool { return startOf(pid) == start }
