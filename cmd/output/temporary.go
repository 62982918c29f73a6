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
)

// # Names of unfinished files
//
// .NAME.memtop-PID-START-N, in the folder of the file that will be called NAME:
// the process that writes it, when that began, and the how many-eth it is of that
// process. Such a file is removed if no such process runs any more and none holds
// its lock: a process in another container or on another machine has a pid of
// which nothing is known here, but its lock is seen.

// temporary is a file on its way to its place.
type temporary struct {
	file *os.File
	name string // "" while it has none
}

// errNoLink is a file without a name that cannot be given one here.
var errNoLink = errors.New("this file system does not name what has none")

// begin makes a file without a name if it can, or else one with.
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

// finish writes the file and puts it in its place. Whether that succeeds or not,
// nothing else is left.
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

// settle brings what was written to the disk.
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
		// There are no links here: to look is the best that can be done.
		if _, err := os.Lstat(p.path); err == nil {
			return fs.ErrExist
		}
	}
	if err := os.Rename(t.name, p.path); err != nil {
		return err
	}
	t.name = ""
	return nil
}

// end closes the file and removes the name that it has beside its place.
func (t *temporary) end() error {
	err := t.file.Close()
	if t.name != "" {
		err = errors.Join(err, os.Remove(t.name))
	}
	return err
}

// serial numbers the unfinished files of this process.
var serial atomic.Int64

// longestName is how much of a file's name the name of its unfinished one keeps:
// file systems allow 255 bytes.
const longestName = 180

// prefix is how the names of unfinished files of a place begin.
func prefix(path string) string {
	name := filepath.Base(path)
	return "." + name[:min(len(name), longestName)] + ".memtop-"
}

func temporaryName(path string) string {
	pid := os.Getpid()
	return fmt.Sprintf("%s%s%d-%d-%d", folderOf(path), prefix(path), pid, startOf(pid), serial.Add(1))
}

// sweep removes the unfinished files of a place whose writers are dead. What
// cannot be looked at stays.
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

// isStale reports whether the end of a name is that of an unfinished file whose
// process is dead.
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
	file, err := os.Open(path)
	if err != nil {
		return
	}
	free := lock(file)
	_ = file.Close() // a system that does not remove what is open would refuse
	if free {
		_ = os.Remove(path) // another process may have been quicker
	}
}
