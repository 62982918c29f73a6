package cpu

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/engine/alloc"
)

// # Memory in a file
//
// The contents of a region may lie in a file: its parts are mapped, and the system
// writes them out and reads them again as it needs memory. The disk's blocks are
// taken when a part is committed, so a full disk is an error there, and no fault
// later. The file is only room: nobody reads it after its process. It begins with
// fileMark, it is locked while it is used, and its end removes it. What a killed
// process left is used again.

// fileMark is how a file begins that may be overwritten, and fileStart is where the
// contents begin.
const (
	fileMark  = "memtop: memory in a file, of use to the process that locks it only\n"
	fileStart = Granularity
)

// OpenFile returns memory whose contents lie in a file, for a host: operations of b
// reach it as they reach the host's own memory. It fails if there is a file already
// that is not such memory, or that another process uses. CloseFile removes it, and
// so does closing the device.
func (b *Backend) OpenFile(path string) (alloc.Driver, error) {
	f, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	free, err := diskFree(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m, err := openMemory(max(free&^(Granularity-1), Granularity)) // it may be full: then the first request says so
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m.region.file, b.pool.cut = f, b.cut
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	b.memory.file = m
	return m, nil
}

// diskFree returns how many bytes are free on the disk of a file.
func diskFree(f *os.File) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &disk); err != nil {
		return 0, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return int64(disk.Bavail) * int64(disk.Bsize), nil
}

// disk returns how many bytes are free on the disk of the region's file, if it has one.
func (r region) disk() (free int64, inFile bool) {
	if r.file == nil {
		return 0, false
	}
	free, _ = diskFree(r.file) // 0 if it cannot be asked
	return free, true
}

// name is the path of the region's file.
func (r region) name() string { return r.file.Name() }

// CloseFile gives the memory of OpenFile back and removes the file.
func (b *Backend) CloseFile() error {
	b.memory.mu.Lock()
	m := b.memory.file
	b.memory.file = nil
	b.memory.mu.Unlock()
	return m.close()
}

// CheckFile fails if a host could not open a file at a path. It leaves nothing there.
// Safe for concurrent use.
func (*Backend) CheckFile(path string) error {
	_, missing := os.Lstat(path)
	f, err := lockFile(path)
	if err != nil {
		return err
	}
	if missing != nil {
		err = os.Remove(path)
	}
	return errors.Join(err, f.Close())
}

// lockFile opens an empty file with the mark, and locks it. If it fails, it leaves what
// was there.
func lockFile(path string) (*os.File, error) {
	_, missing := os.Lstat(path)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := mark(f); err != nil {
		if missing != nil { // it is ours
			_ = os.Remove(path) // the first failure is told
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func mark(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: another process uses it", f.Name())
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	begin := make([]byte, len(fileMark))
	if n, err := f.ReadAt(begin, 0); !info.Mode().IsRegular() || err != nil && err != io.EOF || n > 0 && string(begin[:n]) != fileMark {
		return fmt.Errorf("%s: it exists and is not memory of memtop's", f.Name())
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(fileMark), 0)
	return err
}

// commitFile takes blocks of the disk for a part, which hold zeros, and maps them.
func (r region) commitFile(at, size int64) error {
	if err := unix.Fallocate(int(r.file.Fd()), 0, fileStart+at, size); err != nil {
		return fmt.Errorf("%s: %w", r.file.Name(), err)
	}
	return r.remap(at, size, int(r.file.Fd()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// releaseFile gives the blocks back and makes touching the part a fault.
func (r region) releaseFile(at, size int64) {
	if err := r.remap(at, size, -1, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE); err != nil {
		panic(fmt.Sprintf("cpu: unmapping a file: %v", err))
	}
	// A file system that cannot do this keeps the blocks until the file goes.
	_ = unix.Fallocate(int(r.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, fileStart+at, size)
}

// remap maps other contents to a part.
func (r region) remap(at, size int64, fd, protection, flags int) error {
	offset := int64(0)
	if fd >= 0 {
		offset = fileStart + at
	}
	_, err := unix.MmapPtr(fd, offset, unsafe.Add(r.base, at), uintptr(size), protection, flags|unix.MAP_FIXED)
	return err
}
