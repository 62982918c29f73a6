package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/memtop/memtop/snapshots/trace"
)

// stored is the file that is being read. It counts, stops when the context ends,
// and notices when the file changes meanwhile. It is read and never mapped into
// memory: if another program cuts the file short meanwhile, reading ends early
// instead of causing a memory fault.
type stored struct {
	ctx      context.Context
	file     *os.File
	begin    fs.FileInfo // as it was when it was opened
	progress trace.Progress
	read     int64
	from     int64 // where reading began
	total    int64 // bytes from there on, 0 when not known, as of a pipe
}

// openStored opens path for reading. Standard input is read from its current
// place.
func openStored(ctx context.Context, path string, progress trace.Progress) (*stored, error) {
	f, at := os.Stdin, int64(0)
	var err error
	if path != StandardInput {
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
	} else if at, err = f.Seek(0, io.SeekCurrent); err != nil {
		at = 0 // a pipe has no place
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(err, f.Close())
	case info.IsDir():
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}, f.Close())
	}
	s := &stored{ctx: ctx, file: f, begin: info, progress: progress, from: at}
	if info.Mode().IsRegular() {
		s.total = max(0, info.Size()-at)
	}
	return s, nil
}

// nameOf returns the name of the file that a path to a descriptor means, where the
// system knows it.
func nameOf(path string) string {
	if target, err := os.Readlink(path); err == nil && filepath.Dir(path) == "/dev/fd" && filepath.IsAbs(target) {
		return target
	}
	return path
}

// Read fails if the file ends before the end that it had when it was opened.
func (s *stored) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.file.Read(p)
	return n, s.after(s.read+int64(n), err)
}

// ReadAt reads a part, in any order.
func (s *stored) ReadAt(p []byte, at int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.file.ReadAt(p, s.from+at)
	return n, s.after(max(s.read, at+int64(n)), err)
}

// after notes how far the file has been read, and returns the error that ends the
// read.
func (s *stored) after(read int64, err error) error {
	s.read = read
	if errors.Is(err, io.EOF) && s.read < s.total {
		return errChanged
	}
	if s.progress != nil {
		s.progress(s.read, s.total)
	}
	return err
}

// errChanged ends a read if the file has changed since it was opened.
var errChanged = errors.New("it changed while it was read")

// changed returns an error if another program wrote to the file while it was
// read, so that the data may mix two versions of the file. A recording may grow,
// because it is whole after every frame. A black box may change, because a
// running program writes to it.
func (o *opening) changed() error {
	now, err := o.stored.file.Stat()
	if err != nil || o.stored.total == 0 {
		return nil //nolint:nilerr // whatever was read was read from what was opened
	}
	grown := now.Size() - o.stored.begin.Size()
	same := grown == 0 && now.ModTime().Equal(o.stored.begin.ModTime()) || grown >= 0 && o.container == containerNames[recordingContent] ||
		grown == 0 && o.container == containerNames[boxContent]
	if same && !errors.Is(o.layers[0].err, errChanged) {
		return nil
	}
	reason := errChanged.Error()
	if grown != 0 {
		reason += fmt.Sprintf(", from %d to %d bytes", o.stored.begin.Size(), now.Size())
	}
	return o.corrupt(reason, "open it again when nothing writes to it, or open a copy")
}
