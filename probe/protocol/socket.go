package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// socketSuffix is the suffix of every socket's name.
const socketSuffix = ".sock"

// HostSuffix is the suffix of the names of sockets to which agents of programs come,
// see package sensor.
const HostSuffix = ".host"

// SocketName returns the name of the socket of a process that began at start, in
// clock ticks since boot.
func SocketName(pid int, start uint64) string {
	return strconv.Itoa(pid) + "-" + strconv.FormatUint(start, 10) + socketSuffix
}

// ParseSocketName returns the pid and the start in a socket's name, false for any
// other name.
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

// Folder returns the folder in which a probe of this process puts its socket by
// default, and in which viewers first look for programs of this user.
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

// TemporaryFolder is the prefix of a folder's name in the temporary folder; the
// user's number follows.
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

// MakeFolder makes a folder for sockets, or accepts one that is safe.
func MakeFolder(path string, uid int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return CheckFolder(path, uid)
}

// CheckFolder reports whether a folder belongs to uid and is closed to others.
// The error is fs.ErrNotExist for a missing folder, and a *FolderError for every
// other fault.
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

// CheckOwner returns a *FolderError when a folder does not belong to uid, or is
// open to others.
func CheckOwner(path string, info fs.FileInfo, uid int) error {
	if reason := cmp.Or(stranger(info, uid), unlocked(info)); reason != "" {
		return &FolderError{path, reason}
	}
	return nil
}
