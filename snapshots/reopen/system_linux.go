package reopen

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonBlocking keeps a named pipe in an entry's place from holding the reader up.
const nonBlocking = unix.O_NONBLOCK

func identityOf(info fs.FileInfo) (identity, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, errNotRegular
	}
	return identity{
		Device: uint64(stat.Dev), Inode: stat.Ino, Size: stat.Size, //nolint:unconvert // narrower on some processors
		Modified: stat.Mtim.Nano(), Changed: stat.Ctim.Nano(),
	}, nil
}

// ownAlone reports whether a folder or file is the user's own and closed to others.
func ownAlone(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("%s does not say whose it is", path)
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d", path, stat.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o, which lets others in", path, info.Mode().Perm())
	}
	return nil
}

// mapEntry maps an entry to be read.
func mapEntry(folder *os.Root, name string) ([]byte, error) {
	f, size, err := openEntry(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // what is mapped stays
	if size < footBytes || int64(int(size)) != size {
		return nil, damaged("%d bytes", size)
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		_ = unix.Madvise(memory, unix.MADV_HUGEPAGE) // what the disk is read for is kept in large pages, too
	}
	return memory, err
}

func unmap(memory []byte) error { return unix.Munmap(memory) }

// freeBytes returns how much room the folder's disk has for the user.
func freeBytes(folder *os.Root) (int64, error) {
	f, err := folder.Open(".")
	if err != nil {
		return 0, err
	}
	defer f.Close() // only read from
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * stat.Bsize, nil
}

// BeLast has the calling goroutine's thread, which must be locked to it, run when nothing
// else wants to.
func BeLast() {
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19) // then it runs as it did
}
