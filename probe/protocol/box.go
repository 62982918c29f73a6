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
// A program's black box lies beside its socket, under the same name but for its end,
// where that folder is in memory; else in [BoxFolder]. Whether its program still runs is
// asked of the file, see [blackbox.Held], so a box tells of processes in other PID
// namespaces too, and a later process with the same pid is not taken for it.

// boxSuffix ends the name of every black box.
const boxSuffix = ".box"

// How long boxes of ended programs are kept, and how many of a folder at most.
const (
	BoxLifetime = 24 * time.Hour
	BoxesKept   = 8
)

// BlackBoxVariable is the environment variable that says whether programs have a black
// box: off, its size, or the folder that it lies in.
const BlackBoxVariable = "MEMTOP_BLACK_BOX"

// CommandLineVariable is the environment variable that says how much of its command line
// a program hands out: "full", as it does without, or with any other value its name only.
const CommandLineVariable = "MEMTOP_COMMAND_LINE"

// ParseBlackBox reads what the variable says, or a flag: a size, -1 for off, or a folder.
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

// BoxFolder returns the folder in memory for the boxes of a user whose sockets lie on a
// disk: a mapped file there could make the program wait for the disk.
func BoxFolder(uid int) string { return "/dev/shm/" + TemporaryFolder + strconv.Itoa(uid) }

// BoxFolders returns where the black boxes of programs of this user and environment may
// lie.
func BoxFolders() []string {
	if own := os.Getenv(BlackBoxVariable); filepath.IsAbs(own) {
		return []string{own}
	}
	return slices.Compact([]string{Folder(), BoxFolder(os.Geteuid())})
}

// Box is the file of a black box.
type Box struct {
	Path  string
	Bytes int64 // that it takes of its folder
	Own   bool  // a file of this user's, which may be removed
	// Alive is when its program last noted that it runs, or made the file.
	Alive   time.Time
	Held    bool  // by its program, which runs
	Problem error // why it cannot be read, or must not be trusted; nil for none
}

// making is longer than a program takes to make a box.
const making = time.Minute

// hiddenBefore begins the name of a box that is being made.
const hiddenBefore = "."

// Boxes returns the black boxes in a folder of this user's, the newest first. A folder
// that is not there has none; one that is not the user's own or is open to others is
// an error.
//
// except is a box that is not looked at: to open its own costs a process its lock.
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
		name, ok := strings.CutSuffix(strings.TrimPrefix(e.Name(), hiddenBefore), boxSuffix)
		if _, _, named := ParseSocketName(name + socketSuffix); ok && named && name+boxSuffix != filepath.Base(except) {
			boxes = append(boxes, look(filepath.Join(folder, e.Name())))
		}
	}
	slices.SortStableFunc(boxes, func(a, b Box) int { return cmp.Compare(b.Alive.UnixMicro(), a.Alive.UnixMicro()) })
	return boxes, nil
}

// look reads what a list shows of a box. Opening it must not wait, whatever it is.
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
	defer f.Close() // only read from, so there is nothing to lose
	head, _ := io.ReadAll(io.LimitReader(f, blackbox.HeaderBytes))
	if alive, ok := blackbox.AliveAt(head); ok && alive.After(b.Alive) && alive.Before(time.Now().Add(time.Minute)) {
		b.Alive = alive
	}
	b.Held = blackbox.Held(f)
	return b
}

// Hidden reports whether the box was not finished: its program ended while it made it.
func (b *Box) Hidden() bool { return strings.HasPrefix(filepath.Base(b.Path), hiddenBefore) }

// TidyBoxes removes black boxes of ended programs from a folder of this user's: those
// older than a day, and of the others all but the newest few. except is one that stays
// and is not looked at, "" for none.
func TidyBoxes(folder, except string) {
	boxes, err := Boxes(folder, except)
	if err != nil {
		return // the folder is only tidied here; who uses it says it
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
			_ = os.Remove(b.Path) // another may have been quicker
		}
	}
}
