package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/blackbox"
)

// allocate takes space in a file system; tests replace it.
var allocate = unix.Fallocate

// boxFile is the file of a black box, in the program's memory.
type boxFile struct {
	file *os.File
	path string // its final place; the file gets this name once it has a state
	made string // where it is now
	data []byte
}

// boxFolder returns the folder for a box, given the folder of the socket: the
// same one if it is in memory.
func boxFolder(sockets string, uid int) (string, error) {
	if isInMemory(sockets) {
		return sockets, nil
	}
	if folder := protocol.BoxFolder(uid); isInMemory(filepath.Dir(folder)) {
		return folder, nil
	}
	return "", errNoMemoryFolder
}

// isInMemory reports whether a folder's files are kept only in memory.
func isInMemory(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && (uint32(s.Type) == unix.TMPFS_MAGIC || uint32(s.Type) == unix.RAMFS_MAGIC)
}

// spare is how many times its own size a box of the usual size leaves free: other
// programs use the folder in memory too.
const spare = 8

// makeBoxFile makes a file of that size and maps it. It allocates the whole file
// at once, so that no later store can find the folder full. A box of the usual
// size becomes smaller when there is little room.
func makeBoxFile(path string, size int, usual bool) (*boxFile, error) {
	var s unix.Statfs_t
	if usual && unix.Statfs(filepath.Dir(path), &s) == nil {
		for size > blackbox.LeastSize && s.Bavail*uint64(s.Bsize) < uint64(spare*size) {
			size /= 2
		}
	}
	made := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	_ = os.Remove(made) // left by a process of the same name that died right here
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s is there already: a program has one black box", path)
	}
	f, err := os.OpenFile(made, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	b := &boxFile{file: f, path: path, made: made}
	if err := b.fill(size); err != nil {
		_ = f.Close()
		_ = os.Remove(made)
		return nil, err
	}
	return b, nil
}

func (b *boxFile) fill(size int) (err error) {
	if err := blackbox.Hold(b.file); err != nil {
		return err
	}
	if err := allocate(int(b.file.Fd()), 0, 0, int64(size)); err != nil {
		return fmt.Errorf("there is no room for %d MiB in %s: %w", size>>20, filepath.Dir(b.path), err)
	}
	b.data, err = unix.Mmap(int(b.file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return os.NewSyscallError("mmap", err)
}

// isCut reports whether the file has become shorter.
func (b *boxFile) isCut() bool {
	info, err := b.file.Stat()
	return err == nil && info.Size() < int64(len(b.data))
}

// isGone reports whether another program has removed the file.
func (b *boxFile) isGone() bool {
	var s unix.Stat_t
	return unix.Fstat(int(b.file.Fd()), &s) == nil && s.Nlink == 0
}

// name gives the file its final name, so that viewers see it.
func (b *boxFile) name() error {
	if err := os.Link(b.made, b.path); err != nil { // not a rename, which would replace another box
		return err
	}
	_ = os.Remove(b.made)
	b.made = b.path
	return nil
}

// remove removes the file.
func (b *boxFile) remove() {
	_ = os.Remove(b.made)
	b.leave()
}

// leave unmaps the file and gives up the lock. Goroutines may still record
// events, so leave maps empty memory in its place. That takes no pages until
// something writes to it, and stays mapped until the program ends.
func (b *boxFile) leave() {
	_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(&b.data[0]), uintptr(len(b.data)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED|unix.MAP_NORESERVE)
	_ = b.file.Close()
}
