package inject

import (
	"io/fs"
	"syscall"
)

// ownerOf returns whose a file is, by number.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return 0
}
