//go:build unix

package protocol

import (
	"fmt"
	"io/fs"
	"syscall"
)

// CheckOwner reports with a *FolderError that a folder is not uid's own, or not closed
// to others.
func CheckOwner(path string, info fs.FileInfo, uid int) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return &FolderError{path, "does not say whose it is"}
	case int(stat.Uid) != uid:
		return &FolderError{path, fmt.Sprintf("belongs to user %d and not to user %d", stat.Uid, uid)}
	case info.Mode().Perm()&0o077 != 0:
		return &FolderError{path, fmt.Sprintf("has mode %04o, which lets others in", info.Mode().Perm())}
	}
	return nil
}
