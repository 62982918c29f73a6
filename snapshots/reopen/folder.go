package reopen

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/memtop/memtop/snapshots/trace"
)

// # The folder
//
// It is the user's own and closed to others, and so are the entries in it; else they are
// not looked at and none is made. Entries may be read only, by their mode, since they are
// used where they lie: nothing writes into one that has its name. Each is written whole
// under a hidden name and renamed, so a reader has the old one or the new one, and of two
// writers the later one's stays.

const (
	ending = ".index"
	// spareBytes is what an entry must leave free on its disk.
	spareBytes = 1 << 30
	// abandoned is the age of a hidden file from which on its writer is taken to be gone.
	abandoned = time.Hour
)

// openFolder opens the folder if it is the user's alone.
func openFolder(path string) (*os.Root, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, noneIfGone(err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder", path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil {
		err = ownAlone(path, opened)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// openEntry opens an entry if it is the user's alone and a file. The name is looked at
// before it is opened: what a writer puts under it in between is an entry, too.
func openEntry(folder *os.Root, name string) (*os.File, int64, error) {
	named, err := folder.Lstat(name)
	if err != nil {
		return nil, 0, noneIfGone(err)
	}
	if err := checkRegular(name, named); err != nil {
		return nil, 0, err
	}
	f, err := folder.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, 0, noneIfGone(err)
	}
	opened, err := f.Stat()
	if err == nil {
		err = cmp.Or(checkRegular(name, opened), ownAlone(name, opened))
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, opened.Size(), nil
}

func checkRegular(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	return nil
}

func noneIfGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	return err
}

// expected returns about how large the entry of a trace will be, rather more.
func expected(t *trace.Trace) int64 {
	bytes := int64(16 << 20)
	for i := range t.Devices {
		d := &t.Devices[i]
		bytes += int64(d.Events.Len()) * int64(unsafe.Sizeof(trace.Event{})+8)
		for k := range d.Final.Segments {
			bytes += 128 + 96*int64(len(d.Final.Segments[k].Blocks))
		}
	}
	return bytes
}

// kept is an entry in the folder.
type kept struct {
	name string
	size int64
	used time.Time
}

// list returns the entries, those first that were not used for longest, and removes what
// writers that are gone have left.
func list(folder *os.Root) ([]kept, error) {
	f, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, name := range names {
		info, err := folder.Lstat(name)
		if err != nil || !strings.HasSuffix(name, ending) && !strings.HasPrefix(name, ".") {
			continue // another process has removed it, or it is none of ours
		}
		if strings.HasPrefix(name, ".") {
			if strings.Contains(name, ending+".") && time.Since(info.ModTime()) > abandoned {
				_ = folder.Remove(name)
			}
			continue
		}
		all = append(all, kept{name, info.Size(), info.ModTime()})
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	return all, nil
}

// makeRoom removes entries until so many bytes more are within the bound, those first
// that were not used for longest. The entry that is to be replaced counts as gone.
func (c *Cache) makeRoom(folder *os.Root, bytes int64, replaced string) error {
	all, err := list(folder)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(k kept) bool { return k.name == replaced })
	total := bytes
	for _, k := range all {
		total += k.size
	}
	for _, k := range all {
		if total <= c.Most {
			return nil
		}
		if err := folder.Remove(k.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= k.size
	}
	return nil
}

// Size returns how many entries there are, and how many bytes they take.
func (c *Cache) Size() (entries int, bytes int64, err error) {
	folder, err := openFolder(c.Folder)
	if err != nil {
		return 0, 0, err
	}
	defer folder.Close()
	all, err := list(folder)
	for _, k := range all {
		bytes += k.size
	}
	return len(all), bytes, err
}
