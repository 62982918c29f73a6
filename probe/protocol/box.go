package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/quantity"
)

// # Black boxes
//
// A program's black box lies beside its socket, with the same name and another
// suffix, if that folder is in memory; else in [BoxFolder]. The file itself says
// whether its program still runs, see [blackbox.Held]. So this also works for
// processes in other PID namespaces, and a later process with the same pid is not
// mistaken for the program.

// boxSuffix ends the name of every black box.
const boxSuffix = ".box"

// How long boxes of ended programs are kept, and how many of them in a folder.
const (
	BoxLifetime = 24 * time.Hour
	BoxesKept   = 8
)

// BlackBoxVariable is the environment variable for black boxes: off, a size, or a
// folder.
const BlackBoxVariable = "MEMTOP_BLACK_BOX"

// CommandLineVariable is the environment variable that says how much of its
// command line a program shows: all of it with "full", or when not set; only its
// name with any other value.
const CommandLineVariable = "MEMTOP_COMMAND_LINE"

// ParseBlackBox reads the variable's value, or a flag: a size, -1 for off, or a
// folder.
func ParseBlackBox(text string) (size int, folder string, err error) {
	switch {
	case text == "off":
		return -1, "", nil
	case filepath.IsAbs(text):
		return 0, text, nil
	}
	n, err := quantity.ParseBytes(text)
	if err != nil || n < blackbox.LeastSize || n > blackbox.MostSize {
		return 0, "", fmt.Errorf("%s=%q: want off, a size from %s to %s, or a folder", BlackBoxVariable, text, quantity.Bytes(blackbox.LeastSize), quantity.Bytes(blackbox.MostSize))
	}
	return int(n), "", nil
}

// BoxName returns the name of the black box of a process that began at start.
func BoxName(pid int, start uint64) string {
	return strings.TrimSuffix(SocketName(pid, start), socketSuffix) + boxSuffix
}

// ParseBoxName returns the process that a black box of this name belongs to; false
// if it is no such name.
func ParseBoxName(name string) (pid int, start uint64, ok bool) {
	name, ok = strings.CutSuffix(strings.TrimPrefix(name, hiddenBefore), boxSuffix)
	if !ok {
		return 0, 0, false
	}
	return ParseSocketName(name + socketSuffix)
}

// BoxFolder returns the folder in memory for the boxes of a user whose sockets
// lie on a disk: a mapped file on the disk could make the program wait.
func BoxFolder(uid int) string { return "/dev/shm/" + TemporaryFolder + strconv.Itoa(uid) }

// BoxFolders returns the folders in which programs of this user and environment
// may have black boxes.
func BoxFolders() []string {
	if own := os.Getenv(BlackBoxVariable); filepath.IsAbs(own) {
		return []string{own}
	}
	return slices.Compact([]string{Folder(), BoxFolder(os.Geteuid())})
}

// Box is the file of a black box.
type Box struct {
	Path  string
	Bytes int64 // that the file takes of its folder
	Own   bool  // the file belongs to this user, who may remove it
	// Alive is when its program last noted that it runs, or when it made the file.
	Alive   time.Time
	Held    bool  // its program holds it, and so runs
	Problem error // why it cannot be read, or must not be trusted; nil for none
}

// making is longer than any program takes to make a box.
const making = time.Minute

// hiddenBefore is the prefix of the name of a box that is being made.
const hiddenBefore = "."

// Boxes returns the black boxes in a folder of this user, the newest first. A
// missing folder has none. A folder that belongs to another user, or is open to
// others, is an error.
//
// It does not open the box except: a process that opens and closes its own box
// loses its lock.
func Boxes(folder, except string) ([]Box, error) {
	if err := CheckFolder(folder, os.Geteuid()); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var boxes []Box
	for _, e := range entries {
		_, _, named := ParseBoxName(e.Name())
		if named && strings.TrimPrefix(e.Name(), hiddenBefore) != filepath.Base(except) {
			boxes = append(boxes, look(filepath.Join(folder, e.Name())))
		}
	}
	slices.SortStableFunc(boxes, func(a, b Box) int { return cmp.Compare(b.Alive.UnixMicro(), a.Alive.UnixMicro()) })
	return boxes, nil
}

// look reads the facts about a box for a list. Opening must not block, whatever
// kind of file it is.
func look(path string) Box {
	b := Box{Path: path}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		b.Problem = err
		return b
	case !info.Mode().IsRegular():
		b.Problem = fmt.Errorf("%s is no regular file", path)
		return b
	}
	b.Bytes, b.Alive = takes(info), info.ModTime()
	if reason := stranger(info, os.Geteuid()); reason != "" {
		b.Problem = fmt.Errorf("%s %s: it is neither read nor removed", path, reason)
		return b
	}
	b.Own = true
	if reason := unlocked(info); reason != "" {
		b.Problem = fmt.Errorf("%s %s: it is not read; `memtop ls --clean` removes it", path, reason)
	}
	f, err := os.Open(path)
	if err != nil {
		b.Problem = err
		return b
	}
	defer f.Close() // it was only read
	head, _ := io.ReadAll(io.LimitReader(f, blackbox.HeaderBytes))
	if alive, ok := blackbox.AliveAt(head); ok && alive.After(b.Alive) && alive.Before(time.Now().Add(time.Minute)) {
		b.Alive = alive
	}
	b.Held = blackbox.Held(f)
	return b
}

// Hidden reports whether the box was not finished: its program ended while it made it.
func (b *Box) Hidden() bool { return strings.HasPrefix(filepath.Base(b.Path), hiddenBefore) }

// TidyBoxes removes black boxes of ended programs from a folder of this user:
// those older than a day, and of the others all but the newest few. It keeps the
// box except and does not open it; "" for none.
func TidyBoxes(folder, except string) {
	boxes, err := Boxes(folder, except)
	if err != nil {
		return // this only tidies the folder; the user of the folder reports the error
	}
	kept := 0
	for _, b := range boxes {
		if b.Held || !b.Own {
			continue
		}
		lifetime := BoxLifetime
		if b.Hidden() {
			lifetime = making
		} else {
			kept++
		}
		if kept > BoxesKept || time.Since(b.Alive) > lifetime {
			_ = os.Remove(b.Path) // another program may have removed it
		}
	}
}
