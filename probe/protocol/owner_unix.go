//go:build unix

package protocol

import (
	"fmt"
	"io/fs"
	"syscall"
)

// stranger says who owns a file or folder if that is not uid, "" if it is uid.
func stranger(info fs.FileInfo, uid int) string {
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case !ok:
		return "does not say whose it is"
	case int(stat.Uid) != uid:
		return fmt.Sprintf("belongs to user %d and not to user %d", stat.Uid, uid)
	}
	return ""
}

// unlocked says how a file or folder is open to others, "" if it is not.
func unlocked(info fs.FileInfo) string {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Sprintf("has mode %04o, which lets others in", mode)
	}
	return ""
}

// takes returns how many bytes a file takes of its file system: a file with holes
// takes less than its length.
func takes(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
