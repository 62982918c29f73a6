package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// # Names of unfinished files
//
// .NAME.memtop-PID-START-N, in the folder of the final file NAME: the writing
// process, its start, and a serial number. A later write removes such a file if
// its process has ended and no process holds its lock. The lock also protects the
// file of a process in another container or on another machine, whose pid is
// unknown here.

// temporary is an unfinished file.
type temporary struct {
	file *os.File
	name string // "" while it has no name
}

// errNoLink means that this file system cannot name a nameless file.
var errNoLink = errors.New("this file system does not name what has none")

// begin makes a nameless file if possible, else one with a temporary name.
func (p place) begin() (*temporary, error) {
	if file, err := unnamed(folderOf(p.path), p.mode); err == nil {
		lock(file)
		return &temporary{file: file}, nil
	}
	return named(p)
}

// named makes a file that has a name from the begin.
func named(p place) (*temporary, error) {
	name := temporaryName(p.path)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, p.mode)
	if err != nil {
		return nil, err
	}
	lock(file)
	return &temporary{file, name}, nil
}

// finish writes the file and puts it in its place. It leaves no other file
// behind, even if it fails.
func (t *temporary) finish(p place, write func(io.Writer) error) error {
	err := p.fill(t.file, write)
	if err == nil {
		err = t.settle(p)
	}
	if err == nil {
		err = t.publish(p)
	}
	return errors.Join(err, refused(p.Path, t.end()))
}

// settle flushes the file to the disk.
func (t *temporary) settle(p place) error {
	if p.exists {
		if err := t.file.Chmod(p.mode); err != nil {
			return refused(p.Path, err)
		}
	}
	return refused(p.Path, t.file.Sync())
}

// publish gives the file its place.
func (t *temporary) publish(p place) error {
	if t.name == "" {
		switch err := t.link(p.path); {
		case err == nil:
			return refused(p.Path, syncFolder(p.path))
		case !errors.Is(err, fs.ErrExist):
			return errNoLink
		case !p.Overwrite:
			return refused(p.Path, err)
		}
		name := temporaryName(p.path)
		if err := t.link(name); err != nil {
			return errNoLink
		}
		t.name = name
	}
	if err := t.move(p); err != nil {
		return refused(p.Path, err)
	}
	return refused(p.Path, syncFolder(p.path))
}

// move renames a file that has a name.
func (t *temporary) move(p place) error {
	if !p.Overwrite {
		err := os.Link(t.name, p.path) // a rename would replace what has appeared
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		// This file system has no links, so a check before the rename must do.
		if _, err := os.Lstat(p.path); err == nil {
			return fs.ErrExist
		}
	}
	if old, err := os.OpenFile(p.path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		defer old.Close() // and with it the lock
		if err := own(old, p.path); err != nil {
			return err
		}
	}
	if err := os.Rename(t.name, p.path); err != nil {
		return err
	}
	t.name = ""
	return nil
}

// end closes the file and removes its temporary name.
func (t *temporary) end() error {
	err := t.file.Close()
	if t.name != "" {
		err = errors.Join(err, os.Remove(t.name))
	}
	return err
}

// serial numbers the unfinished files of this process.
var serial atomic.Int64

// longestName is how much of a file's name its temporary name keeps: file systems
// allow 255 bytes.
const longestName = 180

// prefix is the prefix of temporary names for a path.
func prefix(path string) string {
	name := filepath.Base(path)
	return "." + name[:min(len(name), longestName)] + ".memtop-"
}

func temporaryName(path string) string {
	pid := os.Getpid()
	return fmt.Sprintf("%s%s%d-%d-%d", folderOf(path), prefix(path), pid, startOf(pid), serial.Add(1))
}

// sweep removes the unfinished files of a path whose writers are dead. It leaves
// files that it cannot check.
func sweep(path string) {
	folder, err := os.Open(folderOf(path))
	if err != nil {
		return
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1) // those that could be read
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, prefix(path)); ok && isStale(rest) {
			removeUnlocked(folderOf(path) + name)
		}
	}
}

// isStale reports whether a name's end is that of an unfinished file of a dead
// process.
func isStale(end string) bool {
	var pid int
	var start uint64
	var number int64
	if n, err := fmt.Sscanf(end, "%d-%d-%d", &pid, &start, &number); n != 3 || err != nil {
		return false
	}
	return end == fmt.Sprintf("%d-%d-%d", pid, start, number) && pid > 0 && !runs(pid, start)
}

// removeUnlocked removes an ordinary file that no process has locked.
func removeUnlocked(path string) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return
	}
	free := lock(file)
	_ = file.Close() // some systems do not remove open files
	if free {
		_ = os.Remove(path) // another process may have removed it
	}
}
