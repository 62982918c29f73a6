package protocol

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// socketSuffix ends the name of every socket.
const socketSuffix = ".sock"

// SocketName returns the name of the socket of a process that began at start, in
// clock ticks since boot.
func SocketName(pid int, start uint64) string {
	return strconv.Itoa(pid) + "-" + strconv.FormatUint(start, 10) + socketSuffix
}

// ParseSocketName returns what a socket's name says, false where it is no such name.
func ParseSocketName(name string) (pid int, start uint64, ok bool) {
	name, ok = strings.CutSuffix(name, socketSuffix)
	before, after, cut := strings.Cut(name, "-")
	if !ok || !cut {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(before)
	if err != nil || pid <= 0 {
		return 0, 0, false
	}
	start, err = strconv.ParseUint(after, 10, 64)
	return pid, start, err == nil && SocketName(pid, start) == name+socketSuffix
}

// Folder returns where a probe of this process puts its socket by default, and
// where viewers look for programs of this user first.
func Folder() string {
	return FolderOf(os.Getenv("MEMTOP_DIR"), os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), os.Geteuid())
}

// FolderOf returns the default folder of a process whose environment has these
// MEMTOP_DIR and XDG_RUNTIME_DIR, "" for a variable that is not set, whose temporary
// folder and whose user these are.
func FolderOf(own, runtime, temporary string, uid int) string {
	switch {
	case own != "":
		return own
	case runtime != "":
		return filepath.Join(runtime, "memtop")
	default:
		return filepath.Join(temporary, TemporaryFolder+strconv.Itoa(uid))
	}
}

// TemporaryFolder begins the name of a folder in the temporary one; the number
// of its user follows.
const TemporaryFolder = "memtop-"

// FolderError says why a folder may not hold sockets.
type FolderError struct {
	Path   string
	Reason string
}

// Error says what is wrong, and what to do.
func (e *FolderError) Error() string {
	return fmt.Sprintf("folder %s %s: remove it or set MEMTOP_DIR to a folder of your own with mode 0700", e.Path, e.Reason)
}

// CheckFolder reports whether a folder is uid's own and closed to others. What
// does not exist is an fs.ErrNotExist, everything else that is wrong a
// *FolderError.
func CheckFolder(path string, uid int) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &FolderError{path, "is a symbolic link"}
	case !info.IsDir():
		return &FolderError{path, "is not a folder"}
	}
	return CheckOwner(path, info, uid)
}

// CheckOwner reports with a *FolderError that a folder is not uid's own, or not closed
// to others.
func CheckOwner(path string, info fs.FileInfo, uid int) error {
	if reason := cmp.Or(stranger(info, uid), unlocked(info)); reason != "" {
		return &FolderError{path, reason}
	}
	return nil
}
