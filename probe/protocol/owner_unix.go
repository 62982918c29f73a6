//go:build unix

package protocol

import (
	"fmt"
	"io/fs"
	"syscall"
)

// stranger says whose a file or folder is that is not uid's own, "" of uid's own.
func stranger(info fs.FileInfo, uid int) string {
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case !ok:
		return "does not say whose it is"
	case int(stat.Uid) != uid:
		return fmt.Sprintf("belongs to user %d and not to user %d", stat.Uid, uid)
	}
	return ""
}

// unlocked says how a file or folder is open to others, "" where it is not.
func unlocked(info fs.FileInfo) string {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Sprintf("has mode %04o, which lets others in", mode)
	}
	return ""
}

// takes returns how many bytes a file takes of its file system: of one with holes, less
// than it is long.
func takes(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
