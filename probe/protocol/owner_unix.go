//go:build unix

package protocol

import (
	"fmt"
	"io/fs"
	"syscall"
)

// checkOwner reports whether a folder is uid's own and closed to others.
func checkOwner(path string, info fs.FileInfo, uid int) error {
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
