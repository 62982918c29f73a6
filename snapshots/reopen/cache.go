package reopen

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// Cache is a folder of entries. The zero value of what may be is what memtop uses. Safe
// for concurrent use, by several processes too.
type Cache struct {
	Folder string
	// Build says which program it is. Entries of another one are not looked at.
	Build string
	// Most is how many bytes all entries may take.
	Most int64
	// From is the size of the smallest file that is worth an entry.
	From int64

	// For tests: how much room a disk has, and what writes there. nil for the disk's own.
	free func(*os.Root) (int64, error)
	to   func(io.Writer) io.Writer
}

// DefaultFrom is the size of a file from which on an entry is made for it.
const DefaultFrom = 64 << 20

// Reasons why there is no entry, or none is made.
var (
	ErrNone      = errors.New("there is no entry for it")
	ErrRecent    = errors.New("the file was changed just before it was read")
	ErrOther     = errors.New("the file has changed since")
	ErrNoRoom    = errors.New("the disk has too little room")
	ErrTooLarge  = errors.New("it would be larger than all entries may be")
	ErrRecording = errors.New("it is no snapshot")
)

// mostFiles is how many files an entry may be known to be about.
const mostFiles = 16

// head is the first section of an entry.
type head struct {
	Build, Content [sha256.Size]byte
	Made           int64 // microseconds since the epoch
	Known          int64 // how many of Files are there
	Files          [mostFiles]identity
}

// Open returns what an entry has of the file at path, or an error that says why there is
// nothing to be had. It reports progress where it must read all of the file.
func (c *Cache) Open(ctx context.Context, path string, progress trace.Progress) (*Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	id, err := identify(f)
	if err != nil {
		return nil, err
	}
	name, err := c.name(f, id.Size)
	if err != nil {
		return nil, err
	}
	folder, err := openFolder(c.Folder)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	memory, err := mapEntry(folder, name)
	if err != nil {
		return nil, err
	}
	s, err := c.read(ctx, memory, f, id, progress)
	if err != nil {
		return nil, errors.Join(err, unmap(memory))
	}
	s.trace.Info.Path = path
	now := time.Now()
	_ = folder.Chtimes(name, now, now) // those that were not used for long go first
	return s, nil
}

// read checks an entry and returns what it holds.
func (c *Cache) read(ctx context.Context, memory []byte, f *os.File, id identity, progress trace.Progress) (*Source, error) {
	var s *Source
	err := guarded(func() error {
		r, err := newReader(memory)
		if err != nil {
			return err
		}
		h := one[head](r)
		if r.err != nil {
			return r.err
		}
		if err := r.checkSections(0, 1); err != nil {
			return err
		}
		if h.Build != sha256.Sum256([]byte(c.Build)) || h.Known < 0 || h.Known > mostFiles {
			return ErrOther
		}
		known := slices.Contains(h.Files[:h.Known], id)
		if !known {
			if err := sameContent(ctx, f, id, h.Content, progress); err != nil {
				return err
			}
		}
		o, err := readTrace(r)
		if err != nil {
			return err
		}
		if o.trace.Info.Bytes != id.Size {
			return ErrOther
		}
		s = &Source{trace: o.trace, indexes: o.indexes, used: make(chan struct{}), Made: time.UnixMicro(h.Made), files: h.Files[:h.Known:h.Known], Known: known}
		return nil
	})
	return s, err
}

// sameContent reads all of a file.
func sameContent(ctx context.Context, f *os.File, id identity, want [sha256.Size]byte, progress trace.Progress) error {
	content, err := contentOf(ctx, f, id.Size, progress)
	if err != nil {
		return err
	}
	now, err := identify(f)
	if err != nil {
		return err
	}
	if content != want || now != id {
		return ErrOther
	}
	return nil
}

// File is a file as it is before it is read, to be kept in mind.
type File struct {
	Path string
	id   identity
	seen time.Time
}

// Look looks at a file that is about to be read, and reports whether it is large enough
// for an entry.
func (c *Cache) Look(path string) (File, bool) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, false
	}
	defer f.Close() // only read from
	id, err := identify(f)
	return File{path, id, time.Now()}, err == nil && id.Size >= c.From
}

// Keep makes the entry of a file whose trace and indexes are s, instead of one that may be
// there. It reads all of the file and takes seconds, so it is called beside everything
// else. The error says why none was made, which is no harm.
func (c *Cache) Keep(ctx context.Context, file File, s *Source) error {
	t := s.Trace()
	switch {
	case !file.id.settledBefore(file.seen):
		return ErrRecent
	case t.Info.Kind != "snapshot" || t.Live != nil || len(t.Steps) > 0 || slices.ContainsFunc(t.Devices, hasBase):
		return ErrRecording
	case t.Info.Bytes != file.id.Size:
		return ErrOther
	}
	f, err := os.Open(file.Path)
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	if id, err := identify(f); err != nil || id != file.id {
		return errors.Join(ErrOther, err)
	}
	h := head{Build: sha256.Sum256([]byte(c.Build)), Made: time.Now().UnixMicro()}
	if h.Content, err = contentOf(ctx, f, file.id.Size, nil); err != nil {
		return err
	}
	name, err := c.name(f, file.id.Size)
	if err != nil {
		return err
	}
	if id, err := identify(f); err != nil || id != file.id {
		return errors.Join(ErrOther, err)
	}
	h.Known = int64(1 + copy(h.Files[1:], s.files))
	h.Files[0] = file.id
	return c.store(ctx, name, &h, s)
}

func hasBase(d trace.Device) bool { return d.Base != nil }

// store writes an entry under a name of its own and then gives it its name.
func (c *Cache) store(ctx context.Context, name string, h *head, s *Source) (err error) {
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return err
	}
	folder, err := openFolder(c.Folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	size := expected(s.trace)
	switch free, err := c.freeBytes(folder); {
	case err != nil:
		return err
	case size > c.Most:
		return ErrTooLarge
	case free-size < spareBytes:
		return ErrNoRoom
	}
	if err := c.makeRoom(folder, size, name); err != nil {
		return err
	}
	hidden := fmt.Sprintf(".%s.%d.%d", name, os.Getpid(), time.Now().UnixNano())
	f, err := folder.OpenFile(hidden, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = folder.Remove(hidden) // else the next that makes room does
		}
	}()
	if err := errors.Join(c.writeEntry(ctx, f, h, s), f.Close()); err != nil {
		return err
	}
	return folder.Rename(hidden, name)
}

func (c *Cache) freeBytes(folder *os.Root) (int64, error) {
	if c.free != nil {
		return c.free(folder)
	}
	return freeBytes(folder)
}

func (c *Cache) writeEntry(ctx context.Context, f io.Writer, h *head, s *Source) error {
	if c.to != nil {
		f = c.to(f)
	}
	blocks := bufio.NewWriterSize(cancelled{ctx, f}, blockBytes)
	w := &writer{to: blocks}
	section(w, []head{*h})
	if err := writeTrace(w, s.trace, s.Index); err != nil {
		return err
	}
	if len(w.spans) > mostSections {
		return ErrTooLarge
	}
	return cmp.Or(w.end(), blocks.Flush())
}

// blockBytes is how much is written at a time. Of what was written in blocks of this size
// some file systems keep as large ones in memory, which the processor maps as one page:
// the first look at each page of 4 KiB would take a third of the time of opening.
const blockBytes = 2 << 20

// cancelled writes until its context ends.
type cancelled struct {
	ctx context.Context
	to  io.Writer
}

func (c cancelled) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.to.Write(b)
}
