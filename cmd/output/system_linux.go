package output

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
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
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the command in parentheses, which may contain any
	// character.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19
	if len(fields) <= start || bytes.ContainsAny(fields[state], "ZX") {
		return 0
	}
	ticks, _ := strconv.ParseUint(string(fields[start]), 10, 64)
	return ticks
}

// runs reports whether the process with that start still runs.
func runs(pid int, start uint64) bool { return startOf(pid) == start }
